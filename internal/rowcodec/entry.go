package rowcodec

import (
	"fmt"
	"strconv"
)

// EntryID returns the id of the outbox entry with that number. Ids are in byte order as
// their numbers are.
func EntryID(number int64) string { return fmt.Sprintf("%020d", number) }

// EntryNumber is the way back from [EntryID]; 0 for what is no id.
func EntryNumber(id string) int64 {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return number
}
