package pgstore

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

// statementTexts holds the texts by statement, with their placeholders.
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
		texts[statement(name)] = strings.TrimSuffix(strings.TrimSpace(stripComments(string(text))), ";")
	}
	return texts
}

// stripComments leaves out lines of comment, which the server would parse each time.
func stripComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// renderStatements returns every statement's SQL for a store.
func renderStatements(n names, columns []userColumn) map[statement]string {
	sql := make(map[statement]string, len(statementTexts))
	for st, text := range statementTexts {
		sql[st] = n.render(withUserColumns(text, columns))
	}
	return sql
}

// sql returns a statement's SQL. A test holds the names in the code against the files.
func (s *Store) sql(st statement) string {
	text, ok := s.statements[st]
	if !ok {
		panic(fmt.Sprintf("pgstore: there is no file sql/%s.sql", string(st)))
	}
	return text
}
