package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

var _ driver.ServerClock = (*Store)(nil)

// ServerTime implements [driver.ServerClock].
func (s *Store) ServerTime(ctx context.Context) (driver.Time, error) {
	var now driver.Time
	err := s.read(ctx, "ServerTime", func() error {
		at, err := s.client.Time(ctx).Result()
		now = driver.TimeOf(at)
		return err
	})
	return now, err
}

// checkServer refuses a server that is too old, warns about settings that lose jobs,
// and finds out how to publish. A user without permission to ask is believed.
func (s *Store) checkServer(ctx context.Context) error {
	info := map[string]string{}
	err := s.read(ctx, "Open", func() error {
		text, err := s.client.Info(ctx).Result()
		for line := range strings.Lines(text) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				info[key] = value
			}
		}
		return err
	})
	if redis.HasErrorPrefix(err, "NOPERM") {
		s.logger.Warn("braid: the Redis user may not run INFO, so the server's version and settings are not checked")
		return nil
	}
	if err != nil {
		return err
	}
	major, minor := version(info["redis_version"])
	if major < minVersion[0] || major == minVersion[0] && minor < minVersion[1] {
		return fmt.Errorf("braid: Redis %s is too old; use %d.%d or newer, or Valkey", info["redis_version"], minVersion[0], minVersion[1])
	}
	s.sharded = info["cluster_enabled"] == "1" && major >= 7
	if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && policy != "" && policy != "noeviction" {
		s.logger.Warn("braid: Redis may evict jobs when its memory is full; set maxmemory-policy to noeviction", "maxmemory-policy", policy)
	}
	if info["aof_enabled"] == "0" && !s.savesSnapshots(ctx) {
		s.logger.Warn("braid: Redis does not persist anything, so a restart loses all jobs; set appendonly to yes")
	}
	return nil
}

// savesSnapshots reports whether the server writes snapshots by itself, as far as it
// tells.
func (s *Store) savesSnapshots(ctx context.Context) bool {
	saves := true
	err := s.read(ctx, "Open", func() error {
		config, err := s.client.ConfigGet(ctx, "save").Result()
		if save, told := config["save"]; told {
			saves = save != ""
		}
		return err
	})
	return err != nil || saves
}

// version reads the first two numbers of a version.
func version(text string) (major, minor int) {
	parts := strings.SplitN(text, ".", 3)
	major, _ = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}
