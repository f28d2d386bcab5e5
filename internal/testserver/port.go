package testserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports to choose from lie below those that the system gives to outgoing
// connections. The bus of a Redis cluster node listens busOffset above its port.
const (
	firstPort = 10_000
	lastPort  = 19_999
	busOffset = 10_000
)

// freePort returns a port of 127.0.0.1 that nobody listens on, and nobody listens on
// its bus port either. Another process may take it meanwhile.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if listens(port) && listens(port+busOffset) {
			return port, nil
		}
	}
	return 0, errors.New("found no free port between " + strconv.Itoa(firstPort) + " and " + strconv.Itoa(lastPort))
}

// listens reports whether one can listen on a port.
func listens(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
