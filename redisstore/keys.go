package redisstore

import "strings"

// Every key of a store begins with its prefix as a hash tag, "{braid}:", so that all
// keys of one prefix lie in one slot of a cluster. What follows it is listed here and
// nowhere else; the scripts are given these names by the loader, as Lua constants
// that already include the prefix.
//
// Parts of a key that are chosen by users may hold any character. Where one of them
// is not the last part of the key, its length in bytes stands before it, so that no
// two keys run together.
//
// Times in scores are milliseconds. A double holds every time up to the year 287396
// exactly; a later one is only ordered approximately. Records hold exact times.

// keyNames lists the constants that scripts may use, and what each key begins with.
//
// Jobs:
//
//	HEAD     h:<id>             string; a job, packed as record.go says
//	SPEC     s:<id>             string; what does not change of it, packed as spec.go says, if
//	                            that is too long for the head
//	EXIT     x:<id>             string; the exit of the latest ledger entry, if it is too
//	                            long for the head
//	LEDGER   a:<id>             list; ledger entries before the latest, oldest first
//
// Orders (sorted sets):
//
//	LANE     w:<n>:<queue>:<name>  waiting jobs; score −priority, member <seq 8 bytes><id>
//	DELAYED  d:<queue>          delayed jobs as they fall due; score runAt, member
//	                            <seq 8 bytes><id>
//	RUNAT    r:<queue>          delayed jobs as they are listed; score runAt, member <id>
//	ACTIVE   active             active jobs; score lockExpiresAt, member <id>
//	CLAIMED  k:<token>          (a hash) held → how many jobs are held under a token; ids →
//	                            those that were claimed under it, packed as lib/claimed.lua
//	                            says
//	PARKED   parked             jobs waiting for children; score enqueuedAt, member <id>
//	ENDED    t:<state digit>    terminal jobs, but for those in OWING; score finishedAt,
//	                            member <id>
//	OWING    o:<state digit>    terminal flow parents that owe cascades; score finishedAt,
//	                            member <id>
//	GROUP    g:<state digit>:<name>  the jobs of ENDED of one name, for Keep; score
//	                            finishedAt, member <order of finish, 8 bytes><id>
//	EXPIRY   expiry             the jobs of ENDED with an age of their own; score finishedAt
//	                            + age, member <id>
//	LIST     l                  all jobs; score enqueuedAt, member <id>
//	LISTQ    l:q:<queue>        the same of one queue, unless that index is off
//	LISTN    l:n:<name>         the same of one name, unless that index is off
//
// Deduplication:
//
//	DEDUPE   u:<n>:<name>:<key> string; whose the key is: <end of the window 8 bytes>
//	                            <marks 1 byte><id>
//	WINDOWS  windows            sorted set of the entries that expire; score expiresAt,
//	                            member <n>:<name>:<key>
//
// Queues and counters:
//
//	LANES    n:<queue>          set; the names that have a waiting job in the queue
//	QUEUES   queues             sorted set, all scores 0; the queues that hold a job
//	PAUSED   paused             sorted set, all scores 0; the paused queues
//	COUNTS   c                  hash; <state digit> → jobs in that state
//	COUNTSQ  c:<queue>          the same of one queue, and "all" → its jobs
//	SURPLUS  surplus            hash; <state digit>:<name> → up to which member a trim of
//	                            that group that hit its bound has still to delete
//	SCRATCH  scratch            sorted set that lives during one call; score enqueuedAt,
//	                            member <id>
//	META     meta               hash; format, the counters seq, flow and turn, how many reports
//	                            the outbox holds, the marks of the list indexes, the place of
//	                            the audit
//
// Pushing:
//
//	WAKES    wakes              hash; <queue> → number of its latest wake; "" → of the latest
//	                            of all
//	ARMED    armed              set; the queues somebody waits for since the latest wake
//	WATCHED  watched            hash; <id> → the watchers of its end, 16 bytes each
//
// Flows. A run that fans out has a number, under which its rows lie, so that those of
// another run of the same parent never mix with them:
//
//	FLOW     f:<id>             string; the flow of a parent that has fanned out, packed as
//	                            lib/flow.lua says
//	STAGED   fs:<id>            string; the number of the run that stages children
//	ROWS     fr:<number>        hash; <child key> → dependency row, packed as flow_row.go says
//	REQUESTS fq:<number>        hash; <child key> → packed request of an open row
//	CHILDREN fk:<number>        sorted set, all scores 0; the child keys
//	FRESH    fn:<number>        sorted set, all scores 0; the keys of open rows, pending or
//	                            owed, that no sweep has returned
//	RETURNED fb:<number>        the keys of open rows returned while pending; score: since
//	                            when the next return is waited for
//	ASKED    fa:<number>        the keys of open rows returned as owed; score: turn
//	FLOWSPARKED   flows:parked  parked flows that wait for their time; score: no open row was
//	                            landed or returned before it, member <id>
//	FLOWSDUE      flows:due     parked flows whose time has come; score: turn, member <id>
//	FLOWSOWING    flows:owing   flows with owed rows in FRESH or RETURNED; score: turn,
//	                            member <id>
//	FLOWSASKED    flows:asked   flows with rows in ASKED; score: the least turn of these,
//	                            member <id>
//	MENDING       mending       hash; flow id, or an empty text for the outbox → how far a
//	                            sweep has come that enters lost places anew
//	ABANDONED     abandoned     the numbers whose rows are to be deleted; score: the same
//
// Outbox:
//
//	OUTBOX   out                hash; <id of the last entry, 8 bytes> → block of entries, packed
//	                            as outbox.go says
//	BOXES    out:boxes          set; the stores that entries go to
//	BOX      ob:<store>         sorted set, all scores 0; the fields of the blocks that go there
//	READY    or:<store>         sorted set, all scores 0; those of them that no peek holds
//	HELD     oh:<store>         the others; score: until when
//
// Schedules:
//
//	SCHEDULE  sc:<key>          string; a schedule, packed as schedule_record.go says
//	SCHEDULES schedules         sorted set, all scores 0; the keys
//	DUE       schedules:due     score nextRunAt, member <key>
//
// Workers and stats:
//
//	WORKERS   workers           sorted set, all scores 0; the ids of workers
//	WORKER    workers:records   hash; <id> → expiresAt, 8 bytes, and the record in JSON
//	LAPSES    workers:lapses    score expiresAt, member <id>
//	STATS     st:<minute>       hash; the runs that ended in that minute since the epoch, as
//	                            lib/stats.lua says
//	MINUTES   minutes           sorted set; the minutes that have stats, score and member
//	DEPTHS    depths            sorted set; score minute, member <minute> and the numbers of
//	                            jobs in each state, with spaces between
//
// The channels of pub/sub, which cluster clients route like keys:
//
//	WAKE     wake:<queue>       number of the wake
//	CANCEL   cancel             id of an active job whose cancel was requested
//	END      end:<watcher>      how a watched job ended
var keyNames = map[string]string{
	"HEAD": "h:", "SPEC": "s:", "EXIT": "x:", "LEDGER": "a:",
	"LANE": "w:", "DELAYED": "d:", "RUNAT": "r:", "ACTIVE": "active", "CLAIMED": "k:", "PARKED": "parked",
	"ENDED": "t:", "OWING": "o:", "GROUP": "g:", "EXPIRY": "expiry",
	"LIST": "l", "LISTQ": "l:q:", "LISTN": "l:n:",
	"DEDUPE": "u:", "WINDOWS": "windows",
	"LANES": "n:", "QUEUES": "queues", "PAUSED": "paused", "COUNTS": "c", "COUNTSQ": "c:",
	"SURPLUS": "surplus", "META": "meta", "SCRATCH": "scratch",
	"WAKES": "wakes", "ARMED": "armed", "WATCHED": "watched",
	"FLOW": "f:", "STAGED": "fs:", "ROWS": "fr:", "REQUESTS": "fq:", "CHILDREN": "fk:",
	"FRESH": "fn:", "RETURNED": "fb:", "ASKED": "fa:",
	"FLOWSPARKED": "flows:parked", "FLOWSDUE": "flows:due", "FLOWSOWING": "flows:owing", "FLOWSASKED": "flows:asked",
	"MENDING": "mending", "ABANDONED": "abandoned",
	"OUTBOX": "out", "BOXES": "out:boxes", "BOX": "ob:", "READY": "or:", "HELD": "oh:",
	"SCHEDULE": "sc:", "SCHEDULES": "schedules", "DUE": "schedules:due",
	"WORKERS": "workers", "WORKER": "workers:records", "LAPSES": "workers:lapses",
	"STATS": "st:", "MINUTES": "minutes", "DEPTHS": "depths",
	"WAKE": "wake:", "CANCEL": "cancel", "END": "end:",
}

// keyspace builds the names that Go code needs.
type keyspace string

// newKeyspace returns the keyspace of a prefix.
func newKeyspace(prefix string) keyspace { return keyspace("{" + prefix + "}:") }

// key returns a key or channel: the name of its kind in keyNames, and what follows.
func (k keyspace) key(kind string, rest ...string) string {
	return string(k) + keyNames[kind] + strings.Join(rest, "")
}
