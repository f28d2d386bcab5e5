package pgstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testserver.Main(m)) }
