package ffformat

import (
	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// at returns a container of a file by block and index.
func (f *File) at(b, i int) *Container { return &f.Blocks[b].Containers[i] }

// negative is a corpus of files with one fault each. Their hashes are computed again after the change, so that no hash reveals
// the fault and FTI would accept the file.
var negative = []struct {
	name   string
	specs  [][]spec
	field  string // end of the field name in the finding
	class  error
	bad    []int32 // variables that must be reported as bad
	only   string  // names of the layouts; "": all
	change func(f *File)
}{
	{"dptr moved", six, "dptr", ErrCorrupt, []int32{2}, "", func(f *File) { f.at(2, 0).Dptr += 4 }},
	{"dptr of the first container", six, "dptr", ErrCorrupt, []int32{1}, "", func(f *File) { f.at(0, 0).Dptr = 400 }},
	{"dptr negative", six, "dptr", ErrCorrupt, []int32{3}, "", func(f *File) { f.at(4, 1).Dptr = -1 << 63 }},
	{"fptr by one", six, "fptr", ErrCorrupt, []int32{2}, "", func(f *File) { f.at(2, 0).Fptr++ }},
	{"fptr of another", six, "fptr", ErrCorrupt, []int32{3}, "", func(f *File) { f.at(4, 1).Fptr = f.at(4, 0).Fptr }},
	{"fptr over the end", six, "fptr", ErrCorrupt, []int32{5}, "", func(f *File) { f.at(3, 0).Fptr = f.Size }},
	{"fptr negative", six, "fptr", ErrCorrupt, []int32{5}, "", func(f *File) { f.at(3, 0).Fptr = -1 }},
	{"fptr at the limit", six, "fptr", ErrCorrupt, []int32{5}, "", func(f *File) { f.at(3, 0).Fptr = 1<<63 - 1 }},
	{"id of another", six, "containerid", ErrCorrupt, []int32{2, 3}, "", func(f *File) { f.at(2, 0).ID = 3 }},
	{"id of the last container unknown", six, "containerid", ErrCorrupt, []int32{2, 77}, "", func(f *File) { f.at(4, 0).ID = 77 }},
	{"id of a first container", six, "containerid", ErrCorrupt, []int32{3}, "", func(f *File) { f.at(0, 1).ID = 3 }},
	{"containerid", six, "containerid", ErrCorrupt, []int32{2}, "", func(f *File) { f.at(4, 0).ContainerID = 3 }},
	{"containerid negative", six, "containerid", ErrCorrupt, []int32{4}, "", func(f *File) { f.at(1, 0).ContainerID = -1 }},
	{"idx of another", six, "idx", ErrCorrupt, nil, "A B C0 C", func(f *File) { f.at(3, 0).Idx = 0 }},
	{"idx differs", six, "idx", ErrCorrupt, []int32{2}, "A B C0 C", func(f *File) { f.at(2, 0).Idx = 7 }},
	{"chunksize over containersize", six, "chunksize", ErrCorrupt, []int32{4}, "", func(f *File) { f.at(1, 0).ChunkSize = 1601 }},
	{"chunksize negative", six, "chunksize", ErrCorrupt, []int32{4}, "", func(f *File) { f.at(1, 0).ChunkSize = -1 }},
	{"chunksize short in the middle", six, "hascontent", ErrCorrupt, []int32{2}, "", func(f *File) { f.at(2, 0).ChunkSize = 800 }},
	{"chunksize without content", seven, "hascontent", ErrCorrupt, []int32{3}, "", func(f *File) { f.at(4, 1).ChunkSize = 4 }},
	{"chunksize 0 in a later container", six, "chunksize", ErrCorrupt, nil, "", func(f *File) { f.at(4, 0).ChunkSize = 0 }},
	{"containersize", six, "containersize", ErrCorrupt, []int32{5}, "", func(f *File) { f.at(3, 0).ContainerSize = -2000 }},
	{"containersize over the end", six, "fptr", ErrCorrupt, []int32{3}, "", func(f *File) { f.at(4, 1).ContainerSize = 1 << 30 }},
	{"hascontent lost in the middle", six, "hascontent", ErrCorrupt, []int32{2}, "", func(f *File) { f.at(2, 0).HasContent = false }},
	{"hascontent of the first container", seven, "hascontent", ErrCorrupt, []int32{4}, "", func(f *File) { f.at(1, 0).HasContent = false; f.at(1, 0).ChunkSize = 0 }},
	{"hascontent of an empty container", seven, "hascontent", ErrCorrupt, nil, "", func(f *File) { f.at(2, 0).HasContent = true }},
	{"hascontent 2", six, "hascontent", ErrCorrupt, nil, "", func(f *File) { f.at(2, 0).odd[0] = 2 }},
	{"hasCkpt 255", six, "hasCkpt", ErrCorrupt, nil, "B C0 C D E F Fast", func(f *File) { f.at(2, 0).HasCkpt = true; f.at(2, 0).odd[1] = 255 }},
	{"dbsize", six, "dbsize", ErrCorrupt, nil, "", func(f *File) { f.Blocks[4].Size += 4 }},
	{"dbsize negative", six, "dbsize", ErrCorrupt, nil, "", func(f *File) { f.Blocks[4].Size = -1 }},
	{"hash of a chunk", six, "variable 4", ErrChecksum, []int32{4}, "", func(f *File) { f.at(1, 0).Hash[0] ^= 1 }},
	{"ckptSize", six, "FB.ckptSize", ErrCorrupt, nil, "", func(f *File) { f.FB.CkptSize-- }},
	{"fs", six, "FB.ckptSize", ErrCorrupt, nil, "", func(f *File) { f.FB.FileSize++ }},
	{"both sizes", six, "FB.fs", ErrTruncated, nil, "A C0 C D E F Fast", func(f *File) { f.FB.FileSize++; f.FB.CkptSize++ }},
	{"both sizes short", six, "FB.fs", ErrCorrupt, nil, "", func(f *File) { f.FB.FileSize--; f.FB.CkptSize-- }},
	{"sizes negative", six, "FB.fs", ErrCorrupt, nil, "", func(f *File) { f.FB.FileSize = -5; f.FB.CkptSize = -5 }},
	{"metaSize", six, "FB.metaSize", ErrCorrupt, nil, "C0 C D E F", func(f *File) { f.FB.MetaSize++ }},
	{"maxFs", six, "FB.maxFs", ErrCorrupt, nil, "", func(f *File) { f.FB.MaxFs = 5 }},
	{"ptFs", six, "FB.ptFs", ErrCorrupt, nil, "", func(f *File) { f.FB.PtFs = -2 }},
	{"ckptId", six, "FB.ckptId", ErrCorrupt, nil, "C D E F Fast", func(f *File) { f.FB.CkptID = -3 }},
}

func TestNegative(t *testing.T) {
	for _, n := range negative {
		for _, k := range kinds {
			if n.only != "" && !slices.Contains(strings.Fields(n.only), k.name) {
				continue
			}
			t.Run(n.name+"/"+k.name, func(t *testing.T) {
				f, b := build(t, k.layout, k.hash, 512, n.specs)
				n.change(f)
				reseal(t, f, b)
				got := findings(t, b, "", nil)
				hit := slices.ContainsFunc(got, func(g Finding) bool {
					return strings.HasSuffix(g.Field, n.field) && errors.Is(g.Err, n.class) && g.Severity != fault.Note && g.Offset >= 0 && g.Offset < f.Size
				})
				if !hit {
					t.Errorf("no finding of %s (%v): %v", n.field, n.class, got)
				}
				bad := badVars(got)
				for _, id := range n.bad {
					if !slices.Contains(bad, id) {
						t.Errorf("variable %d is not called bad: %v", id, got)
					}
				}
				neverWrong(t, b, n.specs)
			})
		}
	}
}

// neverWrong checks that each read of a variable in a damaged file returns the true bytes or an error.
func neverWrong(t *testing.T, b []byte, specs [][]spec) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), "", &Options{Lenient: true})
	if err != nil {
		return
	}
	want := contentOf(specs)
	for id, w := range want {
		n, err := r.VarSize(id)
		if err != nil {
			continue
		}
		if n < 0 || n > int64(len(b)) {
			t.Errorf("variable %d: %d bytes in a file of %d without an error", id, n, len(b))
			continue
		}
		got := make([]byte, n)
		if err := r.ReadVar(context.Background(), id, got); err == nil && !bytes.Equal(got, w) {
			t.Errorf("variable %d: wrong bytes without an error (%d, want %d)", id, n, len(w))
		}
	}
}

// contentOf returns the variables of a file from build.
func contentOf(specs [][]spec) map[int32][]byte {
	vars, n := map[int32][]byte{}, map[int32]int32{}
	for _, b := range specs {
		for _, s := range b {
			p := make([]byte, max(0, s.chunk))
			fill(p, s.id, n[s.id])
			n[s.id]++
			vars[s.id] = append(vars[s.id], p...)
		}
	}
	return vars
}

// uncovered reports whether no reader can detect a wrong bit in the metadata. f is the decoded file with the wrong bit, and good
// is the file without the wrong bit.
func uncovered(good, f *File) bool {
	if f == nil || f.Damaged != nil || f.Hash == Fast || len(f.Blocks) != len(good.Blocks) {
		return false
	}
	a, b := good.FB, f.FB
	a.CkptID, b.CkptID, a.Pad, b.Pad = 0, 0, [7]byte{}, [7]byte{}
	if a != b {
		return false
	}
	for i := range good.Blocks {
		if len(good.Blocks[i].Containers) != len(f.Blocks[i].Containers) || good.Blocks[i].Size != f.Blocks[i].Size {
			return false
		}
		for j := range good.Blocks[i].Containers {
			x, y := *good.at(i, j), *f.at(i, j)
			x.Pad, y.Pad = [3]byte{}, [3]byte{}
			if x.odd == y.odd {
				x.HasCkpt, y.HasCkpt = false, false
			}
			if !x.HasContent && !y.HasContent {
				x.Hash, y.Hash = digest{}, digest{} // only the writer's checksum covers it
			}
			if len(good.Containers(x.ID)) == 1 && len(f.Containers(y.ID)) == 1 {
				x.ID, y.ID = 0, 0 // the id of another variable with the same content
			}
			if x != y {
				return false
			}
		}
	}
	return true
}

// TestEveryBit flips each bit of the metadata. Check reports the flip unless no rule of the format depends on the bit. Reads
// never return wrong bytes, and no variable is larger than the file.
func TestEveryBit(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			good, b := build(t, k.layout, k.hash, 512, seven)
			pieces, err := good.encode()
			must(t, err)
			free, n := 0, 0
			for _, p := range pieces {
				for at := p.Off; at < p.Off+int64(len(p.Data)); at++ {
					for bit := range 8 {
						if n++; n%crashtest.Times(61, 2) != 0 { // a sample: all bits would take long and find no more
							continue
						}
						b[at] ^= 1 << bit
						got := findings(t, b, "", nil)
						wrong := slices.ContainsFunc(got, func(f Finding) bool { return f.Severity != fault.Note })
						if f, err := decodeBytes(b, "", nil); err == nil && claims(f) != nil {
							t.Errorf("byte %#x bit %d: %v in %d bytes", at, bit, claims(f), len(b))
						}
						f, _ := decodeBytes(b, "", &Options{Lenient: true})
						if !wrong {
							if free++; !uncovered(good, f) && !onlyPad(good, f) {
								t.Errorf("byte %#x bit %d: not found", at, bit)
							}
						}
						if f == nil || !idChanged(good, f) {
							neverWrong(t, b, seven)
						}
						b[at] ^= 1 << bit
					}
				}
			}
			t.Logf("%d bits, %d without consequence", n, free)
		})
	}
}

// onlyPad reports whether the wrong bit is in the pad of a Fast file's file block, which no hash covers.
func onlyPad(good, f *File) bool {
	if f == nil {
		return false
	}
	g := *f
	g.FB.Pad = good.FB.Pad
	a, err1 := good.MetaSum()
	b, err2 := g.MetaSum()
	return err1 == nil && err2 == nil && a == b
}

// idChanged reports whether the id of a variable with one container has changed.
func idChanged(good, f *File) bool {
	for _, v := range good.Vars() {
		if len(f.Containers(v.ID)) == 0 {
			return true
		}
	}
	return false
}
