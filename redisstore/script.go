package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

//go:embed lua
var luaFiles embed.FS

// script is an operation of the store that runs inside the server.
//
// A file lua/<name>.lua begins with a comment that says what it does and what its
// KEYS, ARGV and RETURNS are. A line "-- uses: a, b" names the files of lua/lib that
// it needs from there on; these may name others in the same way. The loader puts each of
// them once, in place of the first such line, and before it the constants of keyNames that
// occur. It leaves out the functions that nothing calls. Lua makes each function and
// constant anew for every run, so a script that may be done early names files twice.
type script struct {
	name   string
	source string
	sha    string // of source, as EVALSHA wants it
}

// loadScript composes the script lua/<name>.lua. The files are part of the program,
// so it panics if one is missing or refers to something that does not exist.
func loadScript(name string) *script {
	var body strings.Builder
	appendLua(&body, "lua/"+name+".lua", map[string]bool{})
	source := withKeyConstants(withoutUncalled(body.String()))
	sum := sha1.Sum([]byte(source))
	s := &script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
	loaded = append(loaded, s)
	return s
}

// loaded are the scripts that this program uses.
var loaded []*script

var (
	usesLine    = regexp.MustCompile(`(?m)^-- uses: (.+)$`)
	commentLine = regexp.MustCompile(`(?m)^\s*--.*\n`)
	function    = regexp.MustCompile(`(?ms)^local function (\w+)\(.*?^end\n`)
	word        = regexp.MustCompile(`\w+`)
	upperWord   = regexp.MustCompile(`\b[A-Z][A-Z0-9]+\b`)
)

// appendLua appends a file's code, with that of the files which it uses where it says so.
func appendLua(body *strings.Builder, path string, seen map[string]bool) {
	if seen[path] {
		return
	}
	seen[path] = true
	text, err := luaFiles.ReadFile(path)
	if err != nil {
		panic(fmt.Sprintf("redisstore: %v", err))
	}
	code := string(text)
	for code != "" {
		own, uses := code, ""
		if at := usesLine.FindStringSubmatchIndex(code); at != nil {
			own, uses, code = code[:at[0]], code[at[2]:at[3]], code[at[1]:]
		} else {
			code = ""
		}
		body.WriteString(strings.TrimLeft(commentLine.ReplaceAllString(own, ""), "\n"))
		body.WriteString(partEnd)
		for lib := range strings.SplitSeq(uses, ",") {
			if uses != "" {
				appendLua(body, "lua/lib/"+strings.TrimSpace(lib)+".lua", seen)
			}
		}
	}
}

// withoutUncalled leaves out the functions that nothing else names. It goes by layout:
// such a function begins and ends at the beginning of a line.
func withoutUncalled(code string) string {
	for {
		uses := map[string]int{}
		for _, name := range word.FindAllString(code, -1) {
			uses[name]++
		}
		shorter := function.ReplaceAllStringFunc(code, func(text string) string {
			name := function.FindStringSubmatch(text)[1]
			inside := 0
			for _, other := range word.FindAllString(text, -1) {
				if other == name {
					inside++
				}
			}
			if uses[name] == inside {
				return ""
			}
			return text
		})
		if shorter == code {
			return code
		}
		code = shorter
	}
}

// partEnd ends a part of the code: what stands between two lines that name files.
const partEnd = "--\n"

// withKeyConstants defines the constants of keyNames that occur in the code, each before
// the first part in which it does: a script that returns early has not made them all. One
// that occurs once is put where it is used, because Lua allows 200 local names.
func withKeyConstants(code string) string {
	uses := map[string]int{}
	for _, word := range upperWord.FindAllString(code, -1) {
		uses[word]++
	}
	code = upperWord.ReplaceAllStringFunc(code, func(word string) string {
		if rest, ok := keyNames[word]; ok && uses[word] == 1 {
			return fmt.Sprintf("PREFIX .. '%s'", rest)
		}
		return word
	})
	var b strings.Builder
	b.WriteString("local PREFIX = KEYS[1]\n")
	done := map[string]bool{}
	for part := range strings.SplitSeq(code, partEnd) {
		for _, word := range upperWord.FindAllString(part, -1) {
			if rest, ok := keyNames[word]; ok && !done[word] {
				done[word] = true
				fmt.Fprintf(&b, "local %s = PREFIX .. '%s'\n", word, rest)
			}
		}
		b.WriteString(part)
	}
	return b.String()
}
