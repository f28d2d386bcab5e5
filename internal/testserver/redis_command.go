package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// commandTimeout bounds one command of Do.
const commandTimeout = 10 * time.Second

// Do sends one command over a connection of its own and returns the reply as text: an
// array becomes one line per element, nested ones in order, and nil an empty line. It
// serves tests that look at the server or disturb it.
func (s *RedisServer) Do(args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), commandTimeout)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(commandTimeout)); err != nil {
		return "", err
	}
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(conn, request.String()); err != nil {
		return "", err
	}
	lines, err := readReply(bufio.NewReader(conn))
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args[:min(2, len(args))], " "), err)
	}
	return strings.Join(lines, "\n"), nil
}

// Info returns the fields of a section of INFO, such as "memory", "cpu" or
// "commandstats".
func (s *RedisServer) Info(section string) (map[string]string, error) {
	text, err := s.Do("INFO", section)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields, nil
}

// readReply reads one reply of the Redis protocol, version 2, as lines.
func readReply(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("empty line in the reply")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return []string{rest}, nil
	case '-':
		return nil, errors.New(rest)
	}
	length, err := strconv.Atoi(rest)
	if err != nil {
		return nil, fmt.Errorf("reply %q: %w", line, err)
	}
	switch {
	case length < 0:
		return []string{""}, nil
	case kind == '$':
		value := make([]byte, length+len("\r\n"))
		if _, err := io.ReadFull(r, value); err != nil {
			return nil, err
		}
		return []string{string(value[:length])}, nil
	case kind == '*':
		var lines []string
		for range length {
			element, err := readReply(r)
			if err != nil {
				return nil, err
			}
			lines = append(lines, element...)
		}
		return lines, nil
	}
	return nil, fmt.Errorf("reply %q is not of the Redis protocol", line)
}
