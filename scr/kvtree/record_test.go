package kvtree_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"blobio/scr/kvtree"
)

// The records of docs/format-kvtree.md.
var documented = []struct {
	name, hex string
	build     func(t *kvtree.Tree)
}{
	{"A = b", `
		95 1f c3 f5  00 01  00 01  00 00 00 00 00 00 00 28  00 00 00 01
		00 00 00 01  41 00  00 00 00 01  62 00  00 00 00 00
		f2 21 01 c5`, func(t *kvtree.Tree) { t.SetKV("A", "b") }},
	{"empty", `
		95 1f c3 f5  00 01  00 01  00 00 00 00 00 00 00 1c  00 00 00 01
		00 00 00 00
		02 14 9a 0e`, func(t *kvtree.Tree) {}},
}

func TestDocumentedRecords(t *testing.T) {
	for _, tc := range documented {
		want, err := hex.DecodeString(strings.Join(strings.Fields(tc.hex), ""))
		if err != nil {
			t.Fatal(err)
		}
		var tree kvtree.Tree
		tc.build(&tree)
		got, err := kvtree.Encode(&tree)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %x, %v, want %x", tc.name, got, err, want)
		}
		back, n, err := decode(append(got, "payload"...), &kvtree.Options{Strict: true})
		if err != nil || n != len(want) || !back.Equal(&tree) {
			t.Errorf("%s: read %d bytes, %v", tc.name, n, err)
		}
	}
}
