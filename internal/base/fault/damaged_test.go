package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestDamaged(t *testing.T) {
	at := func(class error) error { return At("part", 8, "x", class, "bad") }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errors.New("other"), false}, {at(nil), false},
		{at(ErrTruncated), true}, {at(ErrChecksum), true}, {at(ErrCorrupt), true}, {at(ErrMissing), true}, {at(ErrMapMismatch), true},
		{fmt.Errorf("open: %w", at(ErrCorrupt)), true}, {Class(ErrChecksum, "of rank 3"), true},
		{at(ErrTooLarge), true}, {In("part", "x", ErrTooLarge, "over a limit of the output"), false}, {Class(ErrTooLarge, "memory"), false},
		{at(ErrNotFormat), true}, {At("named", 0, "magic", ErrNotFormat, "text"), false}, {At("", 0, "magic", ErrNotFormat, "text"), false},
		{at(ErrUnsupported), false}, {at(ErrVersion), false}, {at(ErrUsage), false}, {at(ErrInUse), false}, {at(ErrExist), false}, {at(ErrNotCommitted), false},
		{Class(ErrMissing, "no array of this name"), false}, {fs.ErrNotExist, false}, {at(&fs.PathError{Op: "read", Path: "part", Err: fs.ErrPermission}), false},
		{Usage("-v: %w", ErrCorrupt), false}, {at(syscall.EMFILE), false}, {errors.Join(at(ErrCorrupt), at(syscall.EMFILE)), false},
		{errors.Join(at(ErrUnsupported), fs.ErrPermission, at(ErrChecksum)), true}, {fmt.Errorf("%w; and %w", at(ErrVersion), at(ErrCorrupt)), true},
	} {
		if got := Damaged(c.err, func(file string) bool { return file == "named" }); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
