package testserver

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// RedisCluster is a cluster of masters without replicas, which a test started for
// itself.
type RedisCluster struct {
	Nodes []*RedisServer
}

// slots is how many hash slots a cluster has.
const slots = 16384

// clusterTimeout is how long the nodes may take to agree.
const clusterTimeout = 30 * time.Second

// NewRedisCluster starts a cluster that ends with the test. The masters share the hash
// slots evenly.
func NewRedisCluster(t testing.TB, masters int) *RedisCluster {
	t.Helper()
	cluster := &RedisCluster{}
	for range masters {
		cluster.Nodes = append(cluster.Nodes, Redis(t,
			Directive("cluster-enabled", "yes"), Directive("cluster-node-timeout", "5000")))
	}
	if err := cluster.join(); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// Addrs returns the nodes' host:port.
func (c *RedisCluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// URL returns a redis:// URL that names every node: the first as its host, the others
// as addr parameters.
func (c *RedisCluster) URL() string {
	addrs := c.Addrs()
	return "redis://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
}

// join gives each node its slots and introduces the nodes to each other.
func (c *RedisCluster) join() error {
	first := c.Nodes[0]
	for i, node := range c.Nodes {
		assign := []string{"CLUSTER", "ADDSLOTS"}
		for slot := i * slots / len(c.Nodes); slot < (i+1)*slots/len(c.Nodes); slot++ {
			assign = append(assign, strconv.Itoa(slot))
		}
		commands := [][]string{assign, {"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)}}
		if node != first {
			commands = append(commands, []string{"CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(first.port)})
		}
		for _, command := range commands {
			if _, err := node.Do(command...); err != nil {
				return err
			}
		}
	}
	deadline := time.Now().Add(clusterTimeout)
	for _, node := range c.Nodes {
		for {
			state, err := node.Do("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			if strings.Contains(state, "cluster_state:ok") &&
				strings.Contains(state, "cluster_known_nodes:"+strconv.Itoa(len(c.Nodes))+"\r") {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("node %s of the cluster is not ready after %v:\n%s", node.Addr(), clusterTimeout, state)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}
