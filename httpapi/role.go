package httpapi

import (
	"fmt"
	"net/http"
	"strings"
)

// Roles are what a caller may do, as a set.
type Roles uint8

// The roles. They do not include each other.
const (
	RoleRead    Roles = 1 << iota // look at everything
	RoleOperate                   // retry, cancel, promote, remove, pause, resume; write schedules
	RoleProduce                   // enqueue
	RoleWork                      // claim jobs and settle them

	NoRoles  Roles = 0
	AllRoles       = RoleRead | RoleOperate | RoleProduce | RoleWork
)

var roleNames = []struct {
	role Roles
	name string
}{{RoleRead, "read"}, {RoleOperate, "operate"}, {RoleProduce, "produce"}, {RoleWork, "work"}}

// Has reports whether all of the roles are in the set.
func (r Roles) Has(roles Roles) bool { return r&roles == roles }

// String lists the roles, separated by commas; it is "none" for the empty set.
func (r Roles) String() string {
	var names []string
	for _, known := range roleNames {
		if r.Has(known.role) {
			names = append(names, known.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}

// ParseRoles reads a list as String writes it.
func ParseRoles(list string) (Roles, error) {
	var roles Roles
	for name := range strings.SplitSeq(list, ",") {
		found := NoRoles
		for _, known := range roleNames {
			if known.name == name {
				found = known.role
			}
		}
		if found == NoRoles {
			return NoRoles, fmt.Errorf("braid: invalid role %q: use read, operate, produce or work, separated by commas", name)
		}
		roles |= found
	}
	return roles, nil
}

// An Authorizer tells who may do what: the roles of a request's caller. known is false
// for a caller who has not proved who he is; the answer then is 401 instead of 403.
type Authorizer func(r *http.Request) (roles Roles, known bool)
