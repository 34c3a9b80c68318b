package read

import (
	"fmt"
	"testing"

	"blobio/blob/internal/checksum"
)

// TestSums: checksums of extents of several gigabytes arrive on systems with 32 bits too. A cut message is an error.
func TestSums(t *testing.T) {
	sent := []extentSums{{3, 1, []checksum.Seg{{At: 3 << 30, N: 5 << 30, CRC: 7}, {At: 8 << 30, N: 1}}}, {part: 4}}
	b := appendSums(nil, sent)
	got, rest, err := parseSums(append(b[:len(b):len(b)], "rest"...))
	if fmt.Sprint(got) != fmt.Sprint(sent) || string(rest) != "rest" || err != nil {
		t.Errorf("%v %q %v, want %v", got, rest, err, sent)
	}
	for i := 1; i < len(b); i++ {
		if _, _, err := parseSums(b[:i]); err == nil {
			t.Errorf("no error of a message that is cut at %d", i)
		}
	}
}
