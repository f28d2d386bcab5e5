package testserver

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and can disturb what passes. It begins
// with Pass.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string
	mode    ProxyMode
	changed chan struct{} // closed, and replaced, at each change of the mode
	closed  bool
	conns   map[net.Conn]bool
}

// ProxyMode is what a proxy does with bytes and connections.
type ProxyMode int

const (
	// Pass hands everything on, also what an earlier mode held back.
	Pass ProxyMode = iota
	// Stall accepts connections, keeps those that there are, and hands nothing on: a
	// server that never answers.
	Stall
	// StallReplies hands requests on, and no reply.
	StallReplies
	// Cut ends every connection and each new one at once.
	Cut
)

// NewProxy starts a proxy in front of target (host:port), which ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		listener: listener, target: target,
		changed: make(chan struct{}), conns: make(map[net.Conn]bool),
	}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the host:port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Set changes the mode, for the connections that there are and for new ones.
func (p *Proxy) Set(mode ProxyMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	close(p.changed)
	p.changed = make(chan struct{})
	if mode == Cut {
		p.cutLocked()
	}
}

// Retarget ends every connection and connects new ones with another server, as a
// failover does behind a name.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.cutLocked()
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	_ = p.listener.Close()
	close(p.changed)
	p.changed = make(chan struct{})
	p.cutLocked()
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) cutLocked() {
	for conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		target, ok := p.keep(client)
		if !ok {
			_ = client.Close()
			continue
		}
		p.running.Go(func() { p.serve(client, target) })
	}
}

// keep notes a connection, so that Cut, Retarget and close end it, and returns the
// target; false if it shall not be.
func (p *Proxy) keep(conn net.Conn) (target string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode == Cut {
		return "", false
	}
	p.conns[conn] = true
	return p.target, true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = conn.Close()
	delete(p.conns, conn)
}

// serve connects one client with the server until either ends.
func (p *Proxy) serve(client net.Conn, target string) {
	defer p.drop(client)
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	if now, ok := p.keep(server); !ok || now != target {
		p.drop(server)
		return
	}
	defer p.drop(server)
	var replies sync.WaitGroup
	replies.Go(func() {
		p.pump(client, server, StallReplies)
		_ = client.Close()
	})
	p.pump(server, client, Stall)
	_ = server.Close()
	replies.Wait()
}

// pump copies from one connection to the other; bytes wait while the mode is Stall, or
// the one that stalls this direction.
func (p *Proxy) pump(to io.Writer, from io.Reader, stalls ProxyMode) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !p.awaitTurn(stalls) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitTurn waits while bytes are held back; false if the connection has ended.
func (p *Proxy) awaitTurn(stalls ProxyMode) bool {
	for {
		p.mu.Lock()
		mode, changed, closed := p.mode, p.changed, p.closed
		p.mu.Unlock()
		switch {
		case closed || mode == Cut:
			return false
		case mode != Stall && mode != stalls:
			return true
		}
		<-changed
	}
}
