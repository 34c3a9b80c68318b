package blob

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// benchSets returns datasets of both layouts: those named in BLOBIO_BENCH_SETS (a list as of PATH), or small ones as the F case has them: many ranks with
// two columns each, deep variables and flat ones.
func benchSets(b *testing.B) []string {
	if l := os.Getenv("BLOBIO_BENCH_SETS"); l != "" {
		return filepath.SplitList(l)
	}
	const ranks, lev = 512, 72
	dir := b.TempDir()
	var out []string
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		name := filepath.Join(dir, l.String()+".nc")
		out = append(out, name)
		s := NewSchema()
		t, z, x := s.Dim("time", Unlimited), s.Dim("lev", lev), s.Dim("ncol", 2*ranks)
		flat, deep := s.Decomp(x), s.Decomp(z, x)
		for k := range 40 {
			s.Var("flat"+string(rune('A'+k)), cdf5.Float, []DimID{t, x}, Decomposed(flat))
			if k < 8 {
				s.Var("deep"+string(rune('A'+k)), cdf5.Float, []DimID{t, z, x}, Decomposed(deep))
			}
		}
		noError(b, comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
			w, err := Create(ctx, c, name, s, []Part{benchPart(flat, c, 1), benchPart(deep, c, lev)}, &Options{Layout: l, Records: 1, Durability: DurableNone})
			must(err)
			for v := range s.vars {
				data := make([]float32, w.Count(s.vars[v].Decomp))
				for i := range data {
					data[i] = float32(v*1000 + i)
				}
				must(Put(w, VarID(v), 0, data))
			}
			return w.Close(ctx)
		}))
	}
	return out
}

// benchPart gives each rank two columns that are not neighbours.
func benchPart(d DecompID, c comm.Comm, lev int64) Part {
	n, r := int64(2*c.Size()), int64(c.Rank())
	p := Part{Decomp: d}
	for z := range lev {
		p.Runs = append(p.Runs, decomp.Req{Offset: z*n + r, Length: 1}, decomp.Req{Offset: z*n + r + n/2, Length: 1})
	}
	return p
}

func benchEach(b *testing.B, f func(b *testing.B, base string)) {
	for _, base := range benchSets(b) {
		b.Run(filepath.Base(base), func(b *testing.B) { f(b, base) })
	}
}

func benchOpen(b *testing.B, base string) (*Reader, *CanonicalFile) {
	r, err := Open(context.Background(), base, nil)
	noError(b, err)
	f, err := r.Canonical(nil)
	noError(b, err)
	return r, f
}

// BenchmarkConvert is what the other figures stand beside.
func BenchmarkConvert(b *testing.B) {
	benchEach(b, func(b *testing.B, base string) {
		out := filepath.Join(b.TempDir(), "c.nc")
		for range b.N {
			r, f := benchOpen(b, base)
			b.SetBytes(f.Size())
			noError(b, Convert(context.Background(), r, out, &ConvertOptions{Force: true, Durability: DurableNone}))
			r.Close()
		}
	})
}

// BenchmarkCanonicalSequential reads all, in pieces of 4 MiB and of 128 KiB, from a Reader that has read nothing before.
func BenchmarkCanonicalSequential(b *testing.B) {
	for _, n := range []int{4 << 20, 128 << 10} {
		b.Run(sizeName(n), func(b *testing.B) {
			benchEach(b, func(b *testing.B, base string) {
				buf := make([]byte, n)
				for range b.N {
					r, f := benchOpen(b, base)
					b.SetBytes(f.Size())
					for off := int64(0); off < f.Size(); off += int64(n) {
						if _, err := f.ReadAt(buf[:min(int64(n), f.Size()-off)], off); err != nil {
							b.Fatal(err)
						}
					}
					r.Close()
				}
			})
		})
	}
}

func sizeName(n int) string {
	if n >= 1<<20 {
		return "4MiB"
	}
	return "128KiB"
}

// BenchmarkCanonicalScattered reads 4 KiB anywhere.
func BenchmarkCanonicalScattered(b *testing.B) {
	benchEach(b, func(b *testing.B, base string) {
		r, f := benchOpen(b, base)
		defer r.Close()
		buf, rnd := make([]byte, 4<<10), rand.New(rand.NewPCG(1, 2))
		b.SetBytes(int64(len(buf)))
		for range b.N {
			if _, err := f.ReadAt(buf, rnd.Int64N(f.Size()-int64(len(buf)))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkCanonicalFirstLevel opens a dataset and reads the first level of its last variable of several dimensions.
func BenchmarkCanonicalFirstLevel(b *testing.B) {
	benchEach(b, func(b *testing.B, base string) {
		for range b.N {
			r, f := benchOpen(b, base)
			h := f.Header()
			v := len(h.Vars) - 1
			for len(h.Vars[v].Dims) < 3 {
				v--
			}
			shape := h.Shape(v)
			if _, err := f.ReadAt(make([]byte, shape[len(shape)-1]*int64(h.Vars[v].Type.Size())), h.Vars[v].Begin); err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
}

// BenchmarkCanonicalOpen opens a dataset and lays out the file.
func BenchmarkCanonicalOpen(b *testing.B) {
	benchEach(b, func(b *testing.B, base string) {
		for range b.N {
			r, _ := benchOpen(b, base)
			r.Close()
		}
	})
}
