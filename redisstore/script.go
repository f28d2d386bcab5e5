package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed lua
var luaFiles embed.FS

// script is an operation of the store that runs inside the server.
//
// A file lua/<name>.lua begins with a comment that says what it does and what its
// KEYS, ARGV and RETURNS are. A line "-- uses: a, b" names the files of lua/lib that
// it needs from there on; these may name others in the same way. The loader puts each of
// them once, in place of the first such line. It leaves out the functions that nothing
// calls, and puts each constant of keyNames before the first part that uses it. Lua makes
// functions and constants anew for every run, so a script that may be done early names
// files where it goes on.
type script struct {
	name   string
	source string
	sha    string // of source, as EVALSHA wants it
}

// loadScript composes the script lua/<name>.lua. The files are part of the program,
// so it panics if one is missing or refers to something that does not exist.
func loadScript(name string) *script {
	source := compose(appendFile(nil, map[string]bool{}, "lua/"+name+".lua"))
	sum := sha1.Sum([]byte(source))
	s := &script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
	loaded = append(loaded, s)
	return s
}

// loaded are the scripts that this program uses.
var loaded []*script

// luaPart is a function of a Lua file, what stands between two, or a line that names
// files.
type luaPart struct {
	function string // its name; empty: it is none
	text     string
	words    []string // in the text
	uses     []string // the paths of the files that it names
}

// readFiles are the files that were read, by path: every program that can use the store
// composes its scripts when it starts, and many of them use the same files.
var readFiles = map[string][]*luaPart{}

// readLua reads a file. It goes by layout: a function begins and ends at the beginning
// of a line.
func readLua(path string) []*luaPart {
	if file := readFiles[path]; file != nil {
		return file
	}
	text, err := luaFiles.ReadFile(path)
	if err != nil {
		panic(fmt.Sprintf("redisstore: %v", err))
	}
	var file []*luaPart
	part := &luaPart{}
	end := func() {
		if part.text != "" || part.uses != nil {
			part.words = wordsOf(part.text)
			file = append(file, part)
		}
		part = &luaPart{}
	}
	for line := range strings.Lines(string(text)) {
		if used, ok := strings.CutPrefix(line, "-- uses: "); ok {
			end()
			for lib := range strings.SplitSeq(used, ",") {
				part.uses = append(part.uses, "lua/lib/"+strings.TrimSpace(lib)+".lua")
			}
			end()
		}
		if code := strings.TrimSpace(line); code == "" || strings.HasPrefix(code, "--") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "local function "); ok && part.function == "" {
			end()
			part.function, _, _ = strings.Cut(rest, "(")
		}
		part.text += line
		if line == "end\n" && part.function != "" {
			end()
		}
	}
	end()
	readFiles[path] = file
	return file
}

// isWordRune tells what words consist of.
func isWordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

// wordsOf returns the words in a text in their order.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !isWordRune(r) })
}

// appendFile appends a file's parts to others, with those of the files that it uses in
// place of the lines that name them, each once.
func appendFile(parts []*luaPart, seen map[string]bool, path string) []*luaPart {
	if seen[path] {
		return parts
	}
	seen[path] = true
	for _, part := range readLua(path) {
		for _, used := range part.uses {
			parts = appendFile(parts, seen, used)
		}
		if part.text != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// compose puts together what the script needs: what is no function, the functions that
// this names, those that these name, and the constants of keyNames that occur. A constant
// that occurs once is written where it is used, since Lua allows 200 names.
func compose(parts []*luaPart) string {
	parts = neededParts(parts)
	uses := map[string]int{}
	for _, part := range parts {
		for _, word := range part.words {
			uses[word]++
		}
	}
	var code strings.Builder
	code.WriteString("local PREFIX = KEYS[1]\n")
	defined := map[string]bool{}
	for _, part := range parts {
		text := part.text
		for _, word := range part.words {
			rest, ok := keyNames[word]
			switch value := fmt.Sprintf("PREFIX .. '%s'", rest); {
			case !ok || defined[word]:
			case uses[word] == 1:
				text = replaceWord(text, word, value)
			default:
				defined[word] = true
				fmt.Fprintf(&code, "local %s = %s\n", word, value)
			}
		}
		code.WriteString(text)
	}
	return code.String()
}

// neededParts leaves out the functions that are not needed.
func neededParts(parts []*luaPart) []*luaPart {
	functions := map[string]*luaPart{}
	for _, part := range parts {
		if part.function != "" {
			functions[part.function] = part
		}
	}
	needed := map[*luaPart]bool{}
	var need func(part *luaPart)
	need = func(part *luaPart) {
		if needed[part] {
			return
		}
		needed[part] = true
		for _, word := range part.words {
			if function := functions[word]; function != nil {
				need(function)
			}
		}
	}
	for _, part := range parts {
		if part.function == "" {
			need(part)
		}
	}
	return slices.DeleteFunc(parts, func(part *luaPart) bool { return !needed[part] })
}

// replaceWord replaces the one place where a word stands in a text.
func replaceWord(text, word, value string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return text
		}
		begin, end := from+at, from+at+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isWordRune(before) && !isWordRune(after) {
			return text[:begin] + value + text[end:]
		}
		from = end
	}
}
