package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestErrorTextIsShort(t *testing.T) {
	var list []error
	for i := range 100 {
		list = append(list, errors.New("line "+string(rune('a'+i%26))+strings.Repeat("b", i/26)))
	}
	same := errors.Join(errors.New("disk full"), errors.New("disk full"))
	if got := ErrorText(same); got != "disk full" {
		t.Errorf("twice the same: %q", got)
	}
	if got := ErrorText(errors.Join(list...)); !strings.HasSuffix(got, "; line h; and 92 more") {
		t.Errorf("a hundred: %q", got)
	}
}
