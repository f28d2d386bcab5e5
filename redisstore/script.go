package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
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
	source := compose(withUsed(nil, "lua/"+name+".lua"))
	sum := sha1.Sum([]byte(source))
	s := &script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
	loaded = append(loaded, s)
	return s
}

// loaded are the scripts that this program uses.
var loaded []*script

// luaPart is a function of a Lua file, or what stands between two.
type luaPart struct {
	function string // its name; empty: it is none
	text     string
	words    []string // in the text, each once
}

// luaFile is a file of Lua code.
type luaFile struct {
	uses  []string // the paths of the files that it needs
	parts []*luaPart
}

// readFiles are the files that were read, by path: every program that can use the store
// composes its scripts when it starts, and many of them use the same files.
var readFiles = map[string]*luaFile{}

// readLua reads a file. It goes by layout: a function begins and ends at the beginning
// of a line.
func readLua(path string) *luaFile {
	if file := readFiles[path]; file != nil {
		return file
	}
	text, err := luaFiles.ReadFile(path)
	if err != nil {
		panic(fmt.Sprintf("redisstore: %v", err))
	}
	file := &luaFile{}
	part := &luaPart{}
	end := func() {
		if part.text != "" {
			part.words = wordsOf(part.text)
			file.parts = append(file.parts, part)
		}
		part = &luaPart{}
	}
	for line := range strings.Lines(string(text)) {
		if used, ok := strings.CutPrefix(line, "-- uses: "); ok {
			for lib := range strings.SplitSeq(used, ",") {
				file.uses = append(file.uses, "lua/lib/"+strings.TrimSpace(lib)+".lua")
			}
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

// wordsOf returns the words in a text in their order, each once.
func wordsOf(text string) []string {
	var words []string
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// withUsed appends a file to others, behind those which it uses, each once.
func withUsed(before []*luaFile, path string) []*luaFile {
	file := readLua(path)
	if slices.Contains(before, file) {
		return before
	}
	for _, used := range file.uses {
		before = withUsed(before, used)
	}
	return append(before, file)
}

// compose puts together what the script needs: what is no function, the functions that
// this names, those that these name, and the constants of keyNames that occur.
func compose(files []*luaFile) string {
	var parts []*luaPart
	for _, file := range files {
		parts = append(parts, file.parts...)
	}
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

	var constants, code strings.Builder
	constants.WriteString("local PREFIX = KEYS[1]\n")
	defined := map[string]bool{}
	for _, part := range parts {
		if !needed[part] {
			continue
		}
		code.WriteString(part.text)
		for _, word := range part.words {
			if rest, ok := keyNames[word]; ok && !defined[word] {
				defined[word] = true
				fmt.Fprintf(&constants, "local %s = PREFIX .. '%s'\n", word, rest)
			}
		}
	}
	return constants.String() + code.String()
}
