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
// it needs; these may name others in the same way. The loader puts each of them once
// before the script, leaves out the functions that nothing calls, since Lua makes each
// anew for every run and allows 200 names, and puts the constants of keyNames that
// occur before it all.
type script struct {
	name   string
	source string
	sha    string // of source, as EVALSHA wants it
}

// loadScript composes the script lua/<name>.lua. The files are part of the program,
// so it panics if one is missing or refers to something that does not exist.
func loadScript(name string) *script {
	var body strings.Builder
	seen := map[string]bool{}
	appendLua(&body, "lua/"+name+".lua", seen)
	code := withoutUncalled(body.String())
	source := keyConstants(code) + code
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

// appendLua appends a file's code, behind that of the files which it uses.
func appendLua(body *strings.Builder, path string, seen map[string]bool) {
	if seen[path] {
		return
	}
	seen[path] = true
	text, err := luaFiles.ReadFile(path)
	if err != nil {
		panic(fmt.Sprintf("redisstore: %v", err))
	}
	for _, line := range usesLine.FindAllSubmatch(text, -1) {
		for _, lib := range strings.Split(string(line[1]), ",") {
			appendLua(body, "lua/lib/"+strings.TrimSpace(lib)+".lua", seen)
		}
	}
	body.Write(commentLine.ReplaceAll(text, nil))
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

// keyConstants defines the constants of keyNames that occur in the code.
func keyConstants(code string) string {
	var b strings.Builder
	b.WriteString("local PREFIX = KEYS[1]\n")
	done := map[string]bool{}
	for _, word := range upperWord.FindAllString(code, -1) {
		if rest, ok := keyNames[word]; ok && !done[word] {
			done[word] = true
			fmt.Fprintf(&b, "local %s = PREFIX .. '%s'\n", word, rest)
		}
	}
	return b.String()
}
