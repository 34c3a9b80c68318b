package edge

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/comm"
)

// For each field that C can set, an error must name an option that exists.
func TestWordsOfOptions(t *testing.T) {
	there := ""
	for _, err := range []error{second(WriteOptions("no=1")), second(ReadOptions("no=1")), second(ConvertOptions("no=1")), second(CheckOptions("no=1"))} {
		there += err.Error() + ","
	}
	for field, name := range optionNames {
		if got, want := Words("ConvertOptions."+field+" 3, want 4"), "option "+name+" 3, want 4"; got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
		if name, _, _ := strings.Cut(name, "="); !regexp.MustCompile(`[ ,]` + name + `\b`).MatchString(there) {
			t.Errorf("%s: no option %s: %s", field, name, there)
		}
	}
	for from, want := range map[string]string{
		"F.nc: a dataset of this name is in the way; Options.Force replaces it: exists":                          "F.nc: a dataset of this name is in the way; option force=yes replaces it: exists",
		"9 bytes of copies and 1 more exceed Options.Memory 3; call Flush earlier, or lend data until Flush: x":  "9 bytes of copies and 1 more exceed option memory 3; call blobio_flush earlier, or use option retain=flush: x",
		"9 bytes of copies and 1 more exceed Options.Memory 3; set Options.Records, or lend data until Close: x": "9 bytes of copies and 1 more exceed option memory 3; set option records, or use option retain=close: x",
		"Options.Stripe.Count 1, want >= 0, and 0 without Size":                                                  "option stripe_count 1, want >= 0, and 0 without stripe_size",
		"ConvertOptions.Ranks -1, Subfiles 0 and Workers 0, want Ranks 0 to 9, Subfiles >= 0 and Workers 0 to 9": "option ranks -1, subfiles 0 and workers 0, want ranks 0 to 9, subfiles >= 0 and workers 0 to 9",
		"file and MaxOpen.nc": "file and MaxOpen.nc",
		"one\ntwo":            "one; two",
	} {
		if got := Words(from); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Every error from reading options must use C names.
func TestWordsOfBadOptions(t *testing.T) {
	goName := regexp.MustCompile(`Options|[a-z][AC-Z]|\n`)
	for _, s := range []string{"buffer=3", "stripe_size=3", "stripe_count=2", "memory=1", "layout=x", "subfiles=9999999999", "workers=-1", "colour=red", "grouping=x", "compress=zstd", "layout=process compress=zip"} {
		_, a := WriteOptions(s)
		_, b := ReadOptions(s)
		_, c := ConvertOptions(s)
		for _, err := range []error{a, b, c} {
			if err != nil && goName.MatchString(Words(err.Error())) {
				t.Errorf("%s: %s", s, Words(err.Error()))
			}
		}
	}
}

func TestBrokenError(t *testing.T) {
	for _, cause := range []error{ErrInternal, errors.New("disk"), &comm.PanicError{}} {
		err := fmt.Errorf("put: %w", &BrokenError{"F.nc", "blobio_enddef", cause})
		if CodeOf(err) != Broken || !errors.Is(err, blob.ErrBroken) {
			t.Errorf("%v: %d", err, CodeOf(err))
		}
	}
}
