// Package apiclient calls the HTTP API, of a server or of a handler in the same
// process: what a command does is the same for a server's URL and for a store's.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidmq/braid/httpapi"
)

// Client makes calls. It is safe for concurrent use.
type Client struct {
	base  string // without a slash at its end
	token string
	store string
	http  *http.Client
}

// New returns a client of the server at a URL, such as http://127.0.0.1:8080. The token
// may be empty. A bad URL is an [*httpapi.Error] with the code invalid_request. store names one of the server's stores; empty: the default one.
func New(base, token, store string) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, &httpapi.Error{Code: httpapi.CodeInvalid, Field: "server",
			Message: fmt.Sprintf("braid: invalid server %q: write a URL such as http://127.0.0.1:8080", base)}
	}
	return &Client{
		base: strings.TrimSuffix(base, "/"), token: token, store: store,
		// A token is never carried to wherever a reply points.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// InProcess returns a client of a handler in this process.
func InProcess(handler http.Handler) *Client {
	return &Client{base: "http://localhost", http: &http.Client{Transport: inProcess{handler}}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads from a path below the API's prefix. An answer that is no success is an
// [*httpapi.Error].
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, into)
}

// Send makes a call that changes something; body may be nil.
func (c *Client) Send(ctx context.Context, method, path string, body, into any) error {
	return c.call(ctx, method, path, nil, body, into)
}

// largestReply bounds what is read of one reply.
const largestReply = 256 << 20

func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	var reader io.Reader
	if body != nil {
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(body); err != nil {
			return fmt.Errorf("braid: the request cannot be encoded: %w", err)
		}
		reader = &encoded
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address(path, query), reader)
	if err != nil {
		return fmt.Errorf("braid: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("braid: the server cannot be reached (braid server starts one): %w", err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, largestReply))
	if err != nil {
		return fmt.Errorf("braid: the reply broke off: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return replyError(response, raw)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("braid: the reply cannot be read; is it a Braid server? %w", err)
	}
	return nil
}

func (c *Client) address(path string, query url.Values) string {
	all := url.Values{}
	for name, values := range query {
		all[name] = values
	}
	if c.store != "" {
		all.Set("store", c.store)
	}
	address := c.base + httpapi.Prefix + path
	if len(all) > 0 {
		address += "?" + all.Encode()
	}
	return address
}

func replyError(response *http.Response, raw []byte) error {
	var reply httpapi.ErrorReply
	if err := json.Unmarshal(raw, &reply); err != nil || reply.Error == nil {
		return fmt.Errorf("braid: the server answered %q; is it a Braid server?", response.Status)
	}
	reply.Error.Status = response.StatusCode
	return reply.Error
}

// Segment encodes text, such as an id, as one segment of a path. Dots are encoded, too,
// since a segment of dots alone would lead elsewhere.
func Segment(text string) string {
	return strings.ReplaceAll(url.PathEscape(text), ".", "%2E")
}

// inProcess hands requests to a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper]. The reply is complete when it returns.
func (t inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	served := request.Clone(request.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	served.RequestURI = request.URL.RequestURI()
	served.Host = request.URL.Host
	w := &replyWriter{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, served)
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Header: w.header, Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}, nil
}

// replyWriter keeps a reply in memory.
type replyWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *replyWriter) Header() http.Header         { return w.header }
func (w *replyWriter) WriteHeader(status int)      { w.status = status }
func (w *replyWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
