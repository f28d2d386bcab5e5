package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// ChildID returns the job id of a flow's child. It is the same whoever computes it,
// and differs for every other store, parent, run and key; run tells a parent that
// was enqueued again under its id from the one before. An id beyond the limit is
// replaced by its hash.
func ChildID(parentStoreKey, flowID, run, childKey string) string {
	id := make([]byte, 0, 5+4*4+len(parentStoreKey)+len(flowID)+len(run)+len(childKey))
	id = append(id, driver.FlowIDPrefix...)
	for _, part := range []string{parentStoreKey, flowID, run} {
		id = strconv.AppendInt(id, int64(len(part)), 10)
		id = append(id, ':')
		id = append(id, part...)
		id = append(id, '/')
	}
	id = append(id, childKey...) // the last part needs no length
	if len(id) > driver.MaxIDBytes {
		sum := sha256.Sum256(id)
		return driver.FlowIDPrefix + hex.EncodeToString(sum[:])
	}
	return string(id)
}
