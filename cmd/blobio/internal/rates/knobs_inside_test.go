package rates

import (
	"reflect"
	"strings"
	"testing"

	"blobio/bench"
	"blobio/blob"
	inside "blobio/internal/bench"
	"blobio/internal/cli"
)

// leaves returns the fields of a struct, and nested fields as Outer.Inner. Compress is one field, set by a word.
func leaves(t reflect.Type, before string) (list []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "FS" { // programs and tests set this field, not users
			continue
		}
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[blob.Compress]() {
			list = append(list, leaves(f.Type, before+f.Name+".")...)
		} else {
			list = append(list, before+f.Name)
		}
	}
	return list
}

func field(v any, path string) any {
	x := reflect.ValueOf(v)
	for name := range strings.SplitSeq(path, ".") {
		if x = x.FieldByName(name); !x.IsValid() {
			return nil
		}
	}
	return x.Interface()
}

// TestKnobs checks that each option of writers and readers has a flag of replay that changes it.
func TestKnobs(t *testing.T) {
	// Fields for which replay has flags of its own, with a value that differs from the default.
	flags := map[string][]string{"Layout": {"--layout=process"}, "Subfiles": {"--subfiles=2"}, "Records": {"--no-fixed-records"}, "Force": {"--force"},
		"Grouping": {"--grouping=block"}, "Compress": {"--compress=zstd:2", "--layout=process"}, "Stripe.Count": {"--stripe-count=3", "--stripe-size=64K"}}
	for _, k := range inside.Knobs() {
		if flags[k.Field] != nil {
			continue
		}
		value := map[inside.KnobKind]string{inside.NumberKnob: "3", inside.SizeKnob: "2M", inside.SwitchKnob: "true"}[k.Kind]
		if k.Kind == inside.WordKnob {
			value = k.Words[0]
			if value == k.Def {
				value = k.Words[1]
			}
		}
		flags[k.Field] = []string{"--" + k.Name + "=" + value}
	}
	options := func(args ...string) (bench.ReplayOptions, error) {
		f := new(replayFlags)
		cmd := newReplay(&cli.Env{}, f)
		if err := cmd.ParseFlags(append([]string{"--case=F_h1"}, args...)); err != nil {
			return bench.ReplayOptions{}, err
		}
		return f.options(cmd, &cli.Env{})
	}
	was, err := options()
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"Layout": "Layouts", "Subfiles": "Subfiles", "Records": "OpenEnded", "Force": "Force", "Retain": "Retain"}
	value := func(o bench.ReplayOptions, path string) any {
		if of, open := strings.CutPrefix(path, "Open."); open {
			return field(o.Open, of)
		}
		if own[path] != "" {
			return field(o, own[path])
		}
		return field(o.Options, path)
	}
	for _, path := range append(leaves(reflect.TypeFor[blob.Options](), ""), leaves(reflect.TypeFor[blob.OpenOptions](), "Open.")...) {
		if path == "Repeats" || path == "Open.ZeroFill" { // replay always sets Repeats, like E3SM-IO, and reads only elements that it has written
			continue
		}
		if flags[path] == nil {
			t.Errorf("%s has no flag: add it to the knobs", path)
			continue
		}
		o, err := options(flags[path]...)
		if err != nil {
			t.Errorf("%s: %v", flags[path], err)
			continue
		}
		if reflect.DeepEqual(value(o, path), value(was, path)) {
			t.Errorf("%s: %s stays %v", flags[path], path, value(o, path))
		}
		delete(flags, path)
	}
	for path, args := range flags {
		t.Errorf("%v sets %s, which is no option", args, path)
	}
	for _, bad := range [][]string{{"--buffer=3"}, {"--stripe-count=2"}, {"--durability=perhaps"}, {"--read-memory=1"}, {"--max-open=-1"}, {"--no-sync", "--durability=data"}} {
		if _, err := options(bad...); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestReplayKnobs checks that data written with other options read back correctly.
func TestReplayKnobs(t *testing.T) {
	for _, args := range [][]string{
		{"--retain=copy", "--durability=none", "--commit-mode=manifest", "--buffer=64K", "--workers=3", "--aggregators=2", "--stripe-size=64K", "--stripe-count=2"},
		{"--retain=close", "--no-fixed-records", "--wide-maps", "--copies=1G", "--checksums=always", "--read-workers=2", "--max-open=3", "--read-max-open=2", "--read-memory=1M"},
	} {
		f := new(replayFlags)
		cmd := newReplay(&cli.Env{}, f)
		if err := cmd.ParseFlags(append([]string{"--case=F_h1", "--ranks=5", "--ranks-per-node=2", "--num-records=2", "--no-convert"}, args...)); err != nil {
			t.Fatal(err)
		}
		o, err := f.options(cmd, &cli.Env{})
		if err != nil {
			t.Fatal(err)
		}
		o.Dir = t.TempDir()
		res, err := bench.Replay(t.Context(), o)
		if err != nil || len(res) != 2 || res[0].Verified == 0 || res[0].Verified != res[1].Verified {
			t.Errorf("%v: %v %+v", args, err, res)
		}
	}
}
