package stats

import (
	"fmt"
	"testing"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// BenchmarkOf summarizes 1 MiB of smooth numbers, with the fill value of their type.
func BenchmarkOf(b *testing.B) {
	for _, t := range []cdf5.Type{cdf5.Float, cdf5.Double, cdf5.Int, cdf5.Short} {
		x := cdf5.NewSlice(t, 1<<20/t.Size())
		n, _, _ := cdf5.SliceLen(x)
		for i := range n {
			switch x := elem.Sub(x, i, i+1).(type) {
			case []float32:
				x[0] = 250 + float32(i%1000)/10
			case []float64:
				x[0] = 250 + float64(i%1000)/10
			case []int32:
				x[0] = int32(i % 1000)
			case []int16:
				x[0] = int16(i % 1000)
			}
		}
		m := meaning(t, nil)
		b.Run(fmt.Sprint(t), func(b *testing.B) {
			b.SetBytes(1 << 20)
			for b.Loop() {
				of(x, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
	}
}
