package prefixdir

import (
	"blobio/internal/base/fault"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestIndexModel applies random operations to the index and to a plain list, and compares the results.
func TestIndexModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := memDir()
		type e struct{ complete, failed bool }
		model := map[int]e{}
		current := 0
		d.Create()
		newest := func(limit int) int {
			best := 0
			for id, v := range model {
				if v.complete && !v.failed && id > best && (limit == 0 || id < limit) {
					best = id
				}
			}
			return best
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			id := rapid.IntRange(1, 6).Draw(t, "id")
			name := ckpt(id).Name
			_, there := model[id]
			op := rapid.SampledFrom([]string{"add", "remove", "fail", "current", "clear"}).Draw(t, "op")
			complete := rapid.Bool().Draw(t, "complete")
			err := d.Index.Update(context.Background(), func(x *Index) error {
				switch op {
				case "add":
					return x.Add(ckpt(id), complete)
				case "remove":
					return x.Remove(name)
				case "fail":
					return x.MarkFailed(name, day)
				case "current":
					return x.SetCurrent(name)
				default:
					return x.ClearFailed(name)
				}
			})
			if op != "add" && !there {
				if !errors.Is(err, fault.ErrMissing) {
					t.Fatalf("%s %d: %v", op, id, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			v := model[id]
			switch op {
			case "add":
				v.complete = complete
				model[id] = v
			case "remove":
				delete(model, id)
				if current == id {
					current = newest(id)
				}
			case "fail", "clear":
				v.failed = op == "fail"
				model[id] = v
			case "current":
				current = id
			}
			x, err := d.Index.Read()
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if current != 0 {
				want = ckpt(current).Name
			}
			if x.Current() != want || x.Len() != len(model) {
				t.Fatalf("current %q of %d, want %q of %d", x.Current(), x.Len(), want, len(model))
			}
			if e, _ := x.Newest(0); e.ID != newest(0) {
				t.Fatalf("newest %d, want %d", e.ID, newest(0))
			}
		}
	})
}
