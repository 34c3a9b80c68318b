package kvtree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/scr/kvtree"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func print(t testing.TB, tree *kvtree.Tree, pairs bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := kvtree.Print(tree, &b, 0, pairs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// withoutNull removes the lines NULL LIST, which are never printed for trees that were read from
// a file.
func withoutNull(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "NULL LIST" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// built makes the trees of the test vectors. It makes the same calls as the program that wrote
// the vectors.
var built = map[string]func(t *kvtree.Tree){
	"empty":  func(t *kvtree.Tree) {},
	"onekey": func(t *kvtree.Tree) { t.Set("onlykey", kvtree.New()) },
	"a_b":    func(t *kvtree.Tree) { t.SetKV("A", "b") },
	"scalars": func(t *kvtree.Tree) {
		t.Value("STR").SetStr("hello world")
		t.Value("EMPTYSTR").SetStr("")
		t.Value("INTNEG").SetInt(-7)
		t.Value("INTMAX").SetInt(2147483647)
		t.Value("I64MIN").SetInt64(-9223372036854775808)
		t.Value("I64").SetInt64(1312850690668536)
		t.Value("ULMAX").SetUint64(18446744073709551615)
		t.Value("BYTES").SetUint64(524294)
		t.Value("CRC").SetCRC32(0x1b39e4e4)
		t.Value("CRCSMALL").SetCRC32(0x28eeb9e)
		t.Value("CRCZERO").SetCRC32(0)
		t.Value("DBL").SetDouble(52428800)
		t.Value("DBLNEG").SetDouble(-0.125)
	},
	"nested": nested,
	"nested_sorted1": func(t *kvtree.Tree) {
		nested(t)
		t.Sort(false)
	},
	"multival": func(t *kvtree.Tree) { t.SetKVInt("TIMESTEP", 20); t.SetKVInt("TIMESTEP", 21) },
	"setf": func(t *kvtree.Tree) {
		for rank := range 2 {
			if _, err := t.Setf(nil, "%s %d %s %d", "RANK", rank, "CKPT", 10+rank); err != nil {
				panic(err)
			}
		}
	},
}

func nested(t *kvtree.Tree) {
	for rank, files := range [][]string{{"foo_0.txt 1024", "bar_0.txt 2048"}, {"foo_1.txt 3072"}} {
		r := t.SetKVInt("RANK", rank)
		r.Value("FILES").SetInt(len(files))
		for i, file := range files {
			name, _, _ := strings.Cut(file, " ")
			f := r.SetKV("FILE", name)
			f.Value("SIZE").SetUint64(uint64(1024 * (2*rank + i + 1)))
			f.Value("COMPLETE").SetInt(1)
		}
	}
}

func TestVectorsReadPrintRewrite(t *testing.T) {
	dir := testfiles.Dir(t, "kvtree")
	files, err := filepath.Glob(filepath.Join(dir, "*.rewrite.kvt"))
	if err != nil || len(files) < 11 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	for _, rewrite := range files {
		stem := strings.TrimSuffix(rewrite, ".rewrite.kvt")
		name := filepath.Base(stem)
		t.Run(name, func(t *testing.T) {
			file, packed := read(t, stem+".kvt"), read(t, stem+".packed")
			tree, n, err := decode(file, &kvtree.Options{Strict: true})
			if err != nil || n != len(file) {
				t.Fatalf("read %d of %d bytes: %v", n, len(file), err)
			}
			again, err := kvtree.Encode(tree)
			if err != nil || !bytes.Equal(again, read(t, rewrite)) {
				t.Errorf("rewritten file differs (%v)", err)
			}
			if b, err := kvtree.Pack(tree); err != nil || !bytes.Equal(b, packed) {
				t.Errorf("packed form differs (%v)", err)
			}
			unpacked, err := kvtree.Unpack(packed, nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := kvtree.Pack(unpacked); !bytes.Equal(b, packed) {
				t.Error("unpacked and packed form differs")
			}
			wantTree, wantKeyVal := string(read(t, stem+".tree.txt")), string(read(t, stem+".keyval.txt"))
			if got := print(t, tree, false); got != withoutNull(wantTree) {
				t.Errorf("tree form:\n%s\nwant\n%s", got, withoutNull(wantTree))
			}
			if got := print(t, tree, true); got != wantKeyVal {
				t.Errorf("key = value form:\n%s\nwant\n%s", got, wantKeyVal)
			}

			build := built[name]
			if build == nil {
				return
			}
			var own kvtree.Tree
			build(&own)
			if b, err := kvtree.Encode(&own); err != nil || !bytes.Equal(b, file) {
				t.Errorf("file of the same calls differs (%v):\n%s", err, print(t, &own, true))
			}
			if got := print(t, &own, false); got != wantTree {
				t.Errorf("tree form of the same calls:\n%s\nwant\n%s", got, wantTree)
			}
			if got := print(t, &own, true); got != wantKeyVal {
				t.Errorf("key = value form of the same calls:\n%s\nwant\n%s", got, wantKeyVal)
			}
		})
	}
}

// malformed holds the expected result for each damaged test vector.
var malformed = map[string]struct {
	class  error
	offset int64
	field  string
	strict error // result with Strict, if it differs
}{
	"good":                 {},
	"nocrc":                {},
	"flags_unknown_bit":    {strict: fault.ErrUnsupported},
	"badcrc":               {class: kvtree.ErrChecksum, offset: 36, field: "crc32"},
	"flip_body_bit":        {class: kvtree.ErrChecksum, offset: 36, field: "crc32"},
	"badmagic":             {class: kvtree.ErrNotFormat, offset: 0, field: "magic"},
	"magic_little_endian":  {class: kvtree.ErrNotFormat, offset: 0, field: "magic"},
	"badtype":              {class: fault.ErrUnsupported, offset: 4, field: "file type"},
	"badversion":           {class: fault.ErrVersion, offset: 6, field: "version"},
	"zero_length":          {strict: kvtree.ErrTruncated},
	"short_header":         {class: kvtree.ErrTruncated, offset: 12, field: "header"},
	"truncated":            {class: kvtree.ErrTruncated, offset: 8, field: "file size"},
	"trailing_data":        {},
	"size_lt_header":       {class: kvtree.ErrCorrupt, offset: 8, field: "file size"},
	"size_eq_header_nocrc": {class: kvtree.ErrCorrupt, offset: 8, field: "file size"},
	"size_huge":            {class: kvtree.ErrTruncated, offset: 8, field: "file size"},
	"count_too_big":        {class: kvtree.ErrCorrupt, offset: 20, field: "count"},
	"count_ffffffff":       {class: kvtree.ErrCorrupt, offset: 20, field: "count"},
	"missing_nul":          {class: kvtree.ErrCorrupt, offset: 24, field: "key"},
	"extra_in_body":        {strict: kvtree.ErrCorrupt},
	"dup_keys":             {strict: kvtree.ErrCorrupt},
	"deep_20000":           {},
}

func TestMalformedVectors(t *testing.T) {
	dir := testfiles.Dir(t, "kvtree_malformed")
	var manifest map[string]json.RawMessage
	if err := json.Unmarshal(read(t, filepath.Join(dir, "manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	for name := range manifest {
		if _, ok := malformed[name]; !ok {
			t.Errorf("%s is not in the table", name)
		}
	}
	for name, want := range malformed {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".kvt")
			tree, err := kvtree.ReadFile(nil, path, nil)
			if !errors.Is(err, want.class) {
				t.Fatalf("error %v, want %v", err, want.class)
			}
			if want.class != nil {
				var fe *kvtree.FormatError
				if !errors.As(err, &fe) || fe.Offset != want.offset || fe.Field != want.field || fe.File != path {
					t.Errorf("error %v, want field %q at %d", err, want.field, want.offset)
				}
				want.strict = want.class
			} else if tree == nil {
				t.Error("no tree")
			}
			if _, err := kvtree.ReadFile(nil, path, &kvtree.Options{Strict: true}); !errors.Is(err, want.strict) {
				t.Errorf("strict: error %v, want %v", err, want.strict)
			}
			b := read(t, path)
			if allocated := testing.AllocsPerRun(1, func() { decode(b, nil) }); want.class != nil && allocated > 20 {
				t.Errorf("%v allocations", allocated)
			}
		})
	}
	t.Run("dup_keys joined", func(t *testing.T) {
		r, err := kvtree.ReadFileRecord(nil, filepath.Join(dir, "dup_keys.kvt"), nil)
		if err != nil || r.Tree.Len() != 1 || r.Duplicates != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, sub := r.Tree.First(); sub.Len() != 2 {
			t.Errorf("%d values, want 2", sub.Len())
		}
	})
	t.Run("deep_20000 rewritten", func(t *testing.T) {
		b := read(t, filepath.Join(dir, "deep_20000.kvt"))
		tree, _, err := decode(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := kvtree.Encode(tree); err != nil || !bytes.Equal(again, b) {
			t.Errorf("differs (%v)", err)
		}
		if !tree.Clone().Equal(tree) {
			t.Error("clone differs")
		}
	})
}

// TestRealFiles reads every record that SCR wrote, checks that it has no irregularity, and
// writes it again unchanged.
func TestRealFiles(t *testing.T) {
	for _, folder := range []string{"scr", "redset"} {
		t.Run(folder, func(t *testing.T) {
			var files, payloads int
			dir := testfiles.Dir(t, folder)
			err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				b := read(t, path)
				if len(b) < 4 || string(b[:4]) != "\x95\x1f\xc3\xf5" {
					return nil
				}
				files++
				r, err := kvtree.Decode(b, &kvtree.Options{Strict: true})
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return nil
				}
				if r.Size < int64(len(b)) {
					payloads++
				}
				again, err := kvtree.Encode(r.Tree)
				if err != nil || !bytes.Equal(again, b[:r.Size]) {
					t.Errorf("%s: rewritten record differs (%v)", path, err)
				}
				if filepath.Ext(path) == ".redset" { // the headers in these files are sorted
					r.Tree.SortAll()
					if again, err = kvtree.Encode(r.Tree); err != nil || !bytes.Equal(again, b[:r.Size]) {
						t.Errorf("%s: sorted record differs (%v)", path, err)
					}
				}
				return nil
			})
			if err != nil || files == 0 || payloads == 0 {
				t.Errorf("%d files, %d with payload, %v", files, payloads, err)
			}
			t.Logf("%d files, %d with payload", files, payloads)
		})
	}
}
