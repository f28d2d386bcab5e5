package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// templates are the pages, by name, each with the layout around it.
var templates = loadTemplates()

func loadTemplates() map[string]*template.Template {
	pages := make(map[string]*template.Template)
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html"))
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		pages[name] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, "templates/"+entry.Name()))
	}
	return pages
}

// assets are the files that pages load, by name, with a hash that their address
// carries: a new program never meets an old file.
var assets = loadAssets()

type asset struct {
	content     []byte
	contentType string
	version     string
}

func loadAssets() map[string]asset {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	all := make(map[string]asset)
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		content, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[entry.Name()] = asset{content, types[path.Ext(entry.Name())], hex.EncodeToString(sum[:6])}
	}
	return all
}

// serveAsset serves one of the files that pages load, to everybody.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.contentType)
	if r.URL.Query().Get("v") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(a.content) // the caller may have gone
}

// page is what a template is given. Its methods are for templates.
type page struct {
	name  string // of the template
	Title string
	Tab   string // the entry of the navigation that is marked
	Data  any

	c *call
}

func (c *call) render(p *page) { c.renderStatus(http.StatusOK, p) }

func (c *call) renderStatus(status int, p *page) {
	p.c = c
	var out bytes.Buffer
	if err := templates[p.name].Execute(&out, p); err != nil {
		c.h.logger.Error("braid: a page of the dashboard cannot be written", "page", p.name, "error", err)
		status = http.StatusInternalServerError
		out.Reset()
		out.WriteString("Something went wrong; the log tells what.\n")
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(out.Bytes()) // the caller may have gone
}

// Link returns the address of a page with parameters, given as names and values in
// turn; empty values are left out. The store goes with it.
func (p *page) Link(path string, parameters ...string) string { return p.c.link(path, parameters...) }

func (c *call) link(path string, parameters ...string) string {
	values := url.Values{}
	if store := c.query.Get("store"); store != "" && (c.client == nil || c.client.StoreName() == store) {
		values.Set("store", store)
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i] == "store" {
			values.Del("store")
		}
		if parameters[i+1] != "" {
			values.Add(parameters[i], parameters[i+1])
		}
	}
	address := c.h.base + path
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return address
}

// Asset returns the address of a file that pages load.
func (p *page) Asset(name string) string {
	return p.c.h.base + "/static/" + name + "?v=" + assets[name].version
}

// Here returns the address of the page itself, for forms that lead back to it.
func (p *page) Here() string {
	values := p.c.r.URL.Query()
	values.Del("notice")
	here := url.URL{Path: p.c.r.URL.Path, RawQuery: values.Encode()}
	return here.String()
}

// Events returns the address of the stream of events; empty if there is none.
func (p *page) Events() string {
	if p.c.h.events == "" || !p.c.access.Read {
		return ""
	}
	if store := p.c.query.Get("store"); store != "" {
		return p.c.h.events + "?" + url.Values{"store": {store}}.Encode()
	}
	return p.c.h.events
}

// MayRead and MayOperate tell what the reader of the page may do.
func (p *page) MayRead() bool    { return p.c.access.Read }
func (p *page) MayOperate() bool { return p.c.access.Operate }

// LoggedIn tells whether there is a token to forget.
func (p *page) LoggedIn() bool {
	_, ok := TokenOf(p.c.r)
	return ok && p.c.h.login != nil && p.c.access.Read
}

// Store is the name of the store of the page; Stores are those there are to choose
// from, none if there is but one.
func (p *page) Store() string { return p.c.client.StoreName() }

func (p *page) Stores() []string {
	stores := p.c.h.client.Stores()
	if len(stores) < 2 || !p.c.access.Read {
		return nil
	}
	return stores
}

// Now is the time of the store.
func (p *page) Now() time.Time { return p.c.now }

// Redacted tells whether payloads and results are hidden.
func (p *page) Redacted() bool { return p.c.h.redact }

// Notice tells what the action that led here has done.
func (p *page) Notice() string { return notices[p.c.query.Get("notice")] }
