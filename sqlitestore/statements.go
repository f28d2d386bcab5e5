package sqlitestore

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// sqlFiles holds every statement, one per file.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

// statement names a file of the folder sql, without its extension.
type statement string

// statementTexts holds the texts by statement.
var statementTexts = loadStatements()

func loadStatements() map[statement]string {
	texts := map[statement]string{}
	files, err := fs.Glob(sqlFiles, "sql/*.sql")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := sqlFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "sql/"), ".sql")
		texts[statement(name)] = strings.TrimSuffix(strings.TrimSpace(string(text)), ";")
	}
	return texts
}

// text returns the statement's SQL. A test holds the names in the code against the
// files.
func (st statement) text() string {
	text, ok := statementTexts[st]
	if !ok {
		panic(fmt.Sprintf("sqlitestore: there is no file sql/%s.sql", string(st)))
	}
	return text
}
