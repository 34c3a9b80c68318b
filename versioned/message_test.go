package versioned

import (
	"fmt"
	"testing"
)

// What ranks tell each other comes back as it was, and nothing else is taken for it.
func TestMessage(t *testing.T) {
	m := message{time: 5, changed: 1 << 40, dead: []string{"g1-v0-r0.fti", ""}, file: &fileInfo{Name: "g1-v2-r3.fti", Node: 2, Gen: 1, Born: 1 << 50, From: 1, Size: 9, Sum: "00ff", Segs: []int{3, 4, 1 << 20}}}
	b := m.encode()
	var got message
	if err := got.decode(b); err != nil || fmt.Sprintf("%+v %+v", got, *got.file) != fmt.Sprintf("%+v %+v", message{time: 5, changed: 1 << 40, dead: m.dead, file: got.file}, *m.file) {
		t.Errorf("%+v %+v: %v", got, got.file, err)
	}
	for i := range b {
		if err := got.decode(b[:i]); err == nil {
			t.Errorf("%d bytes of %d are taken", i, len(b))
		}
	}
	if err := got.decode(append(b, 0)); err == nil {
		t.Error("a byte more is taken")
	}
	if err := got.decode((&message{failed: true}).encode()); err != nil || !got.failed || got.file != nil {
		t.Errorf("%+v: %v", got, err)
	}
}
