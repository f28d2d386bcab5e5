package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/braidmq/braid/driver"
)

// listen opens the address; beyond loopback only where callers need tokens.
func listen(address string, tokens bool) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, &driver.InvalidError{Field: "listen", Value: address, Reason: "is no address to listen on (" + err.Error() + "); write host:port, such as 127.0.0.1:8080"}
	}
	if !tokens && (resolved.IP == nil || !resolved.IP.IsLoopback()) {
		return nil, &driver.InvalidError{Field: "listen", Value: address,
			Reason: "can be reached from other machines, and there are no tokens; give a token file, or listen on 127.0.0.1"}
	}
	network := "tcp"
	if resolved.IP.To4() != nil { // 0.0.0.0 would be listened to, and told, as [::]
		network = "tcp4"
	}
	listener, err := net.ListenTCP(network, resolved)
	if err != nil {
		return nil, fmt.Errorf("braid: listen: %w", err)
	}
	return listener, nil
}

// onlyLoopback refuses requests for other hosts than this one: a page whose name was
// made to lead here gets nothing.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			writeText(w, http.StatusMisdirectedRequest, "This server answers to localhost only; give it a token file to let it answer to other names.\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
