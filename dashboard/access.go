package dashboard

import (
	"encoding/base64"
	"net/http"
)

// Access is what somebody may do.
type Access struct {
	Read    bool // look at everything
	Operate bool // retry, cancel, promote, remove, pause, resume; run and remove schedules
}

func (a Access) covers(needed Access) bool {
	return (a.Read || !needed.Read) && (a.Operate || !needed.Operate)
}

func (a Access) or(b Access) Access {
	return Access{Read: a.Read || b.Read, Operate: a.Operate || b.Operate}
}

// cookieName names the cookie that keeps a token.
const cookieName = "braid_token"

// TokenOf returns the token with which the sender has logged in, if so. The cookie is
// the same for all paths of a host, so that the authorizer of an API beside the
// dashboard can accept it, too, for requests that change nothing.
func TokenOf(r *http.Request) (token string, ok bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return "", false
	}
	raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	return string(raw), err == nil && len(raw) > 0
}

func (h *Handler) accessOf(r *http.Request) Access {
	access := h.authorize(r)
	if h.login == nil {
		return access
	}
	if token, ok := TokenOf(r); ok {
		access = access.or(h.login(token))
	}
	return access
}

// refuse answers somebody who may not do what he asked for.
func (c *call) refuse(needed Access) {
	if c.access.Read || c.h.login == nil {
		text := "You may not look at this."
		if needed.Operate && c.access.Read {
			text = "You may look, but not change anything: that needs the role operate."
		}
		c.h.fail(c, &failure{http.StatusForbidden, text})
		return
	}
	next := c.h.base + "/"
	if c.r.Method == http.MethodGet {
		next = c.r.URL.RequestURI()
	}
	c.renderStatus(http.StatusUnauthorized, &page{name: "login", Title: "Log in", Data: loginForm{Next: next}})
}

// loginForm is what the page that asks for a token shows.
type loginForm struct {
	Next  string
	Wrong bool // the token was not accepted
}

// logIn takes a token, and keeps it in a cookie.
func (h *Handler) logIn(w http.ResponseWriter, r *http.Request) {
	c := h.newCall(w, r)
	if h.login == nil {
		h.fail(c, &failure{http.StatusNotFound, "There is nothing to log in to."})
		return
	}
	if err := r.ParseForm(); err != nil {
		h.fail(c, &failure{http.StatusBadRequest, "The form cannot be read."})
		return
	}
	token, next := r.PostForm.Get("token"), c.localPath(r.PostForm.Get("next"))
	if token == "" || !h.login(token).Read {
		c.renderStatus(http.StatusUnauthorized, &page{name: "login", Title: "Log in", Data: loginForm{Next: next.String(), Wrong: true}})
		return
	}
	h.setCookie(w, r, base64.RawURLEncoding.EncodeToString([]byte(token)), 0)
	http.Redirect(w, r, next.String(), http.StatusSeeOther)
}

// logOut forgets the token.
func (h *Handler) logOut(w http.ResponseWriter, r *http.Request) {
	h.setCookie(w, r, "", -1)
	http.Redirect(w, r, h.base+"/", http.StatusSeeOther)
}

func (h *Handler) setCookie(w http.ResponseWriter, r *http.Request, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
