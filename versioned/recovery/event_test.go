package recovery

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"blobio/versioned"
)

// FuzzEvent: a decoded event is valid and survives encoding and decoding.
func FuzzEvent(f *testing.F) {
	for _, e := range []Event{{Kind: "data"}, {Kind: "loss", Array: "a", Level: 3, Box: -1, Ranks: []int{2, 5}, Scope: Global,
		Attr: map[string]any{"s": "x", "b": true, "i": int64(1<<53 + 1), "f": math.NaN(), "z": math.Copysign(0, -1)}}} {
		b, err := encodeEvent(&e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte(`{"Kind":"data","Scope":200}`))
	f.Add([]byte(`{"Kind":"data","Attr":{"a":["f","zz"],"b":["x",""]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEvent(b)
		if err != nil {
			return
		}
		if err := e.validate(); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		one, err := encodeEvent(&e)
		if err != nil {
			t.Fatal(err)
		}
		e, err = decodeEvent(one)
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		two, err := encodeEvent(&e)
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%s\n%s\n%v", one, two, err)
		}
	})
}

// TestRaisedNumbers: attributes have the same types in the handlers of Raise and of RaiseGlobal.
func TestRaisedNumbers(t *testing.T) {
	var r Registry
	r.On(nil, 0, func(_ context.Context, e Event) error {
		if index := e.Attr["since_index"]; index != int64(3) {
			return fmt.Errorf("since_index is %T %v, want int64 3", index, index)
		}
		return nil
	})
	if err := r.Raise(t.Context(), *LateEvent(Moment{Coarse: 1, Step: versioned.Step{Level: 2, Index: 3}})); err != nil {
		t.Error(err)
	}
}
