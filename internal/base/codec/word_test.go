package codec

import (
	"errors"
	"strings"
	"testing"

	"blobio/internal/base/fault"
)

func TestChoose(t *testing.T) {
	words := []Word{{"off", 0}, {"zstd", 22}, {"gzip", 9}}
	for s, want := range map[string]Word{"off": {"off", 0}, "zstd": {"zstd", 0}, "zstd:1": {"zstd", 1}, "zstd:22": {"zstd", 22}, "gzip:9": {"gzip", 9}} {
		if name, level, err := Choose(s, words...); err != nil || (Word{name, level}) != want {
			t.Errorf("%s: %s %d, %v", s, name, level, err)
		}
	}
	for _, s := range []string{"", "off:1", "zstd:", "zstd:0", "zstd:-1", "zstd:23", "gzip:10", "zstd:x", "lz4", "zstd:1:2", "OFF", ":3"} {
		if _, _, err := Choose(s, words...); !errors.Is(err, fault.ErrUsage) || !strings.Contains(err.Error(), "want off, zstd[:1-22] or gzip[:1-9]") {
			t.Errorf("%q: %v", s, err)
		}
	}
}
