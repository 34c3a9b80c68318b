package amr_test

import (
	"testing"

	"blobio/internal/crashtest"
)

func TestMain(m *testing.M) { crashtest.Main(m) }
