package mapfile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"blobio/decomp"
	"blobio/internal/base/fault"
)

// WriteDat writes one map as PIO text. It writes the offsets before merging if the map has them. Otherwise it writes the
// elements of its requests without fillers. Holes are lost.
func WriteDat(w io.Writer, r *Raw) error {
	if r.Reqs == nil || r.Procs() < 1 {
		return fault.Usage("the map has no processes")
	}
	b := bufio.NewWriterSize(w, 1<<16)
	dims := r.Dims()
	fmt.Fprintf(b, "version %d npes %d ndims %d \n", datVersion, r.Procs(), len(dims))
	for i := range dims {
		fmt.Fprintf(b, "%d ", dims[len(dims)-1-i])
	}
	b.WriteByte('\n')
	var num []byte
	for p := range r.Procs() {
		count, reqs := int64(0), r.Reqs.Reqs(p)
		left := r.FillStart(p)
		if r.Elems != nil {
			count, reqs, left = r.Elems.Count(p), r.Elems.Reqs(p), r.Elems.NumReqs(p)
		} else {
			count = countFirst(r.Reqs, p, left)
		}
		fmt.Fprintf(b, "%d %d\n", p, count)
		for q := range reqs {
			if left == 0 {
				break
			}
			left--
			for o := q.Offset + 1; o <= q.Offset+q.Length; o++ {
				num = append(strconv.AppendInt(num[:0], o, 10), ' ')
				b.Write(num)
			}
		}
		if err := b.WriteByte('\n'); err != nil { // a bufio.Writer keeps its first error
			return err
		}
	}
	return b.Flush()
}

// countFirst returns the number of elements of the first n requests of a process.
func countFirst(m *decomp.Map, proc int, n int64) int64 {
	if n >= m.NumReqs(proc) {
		return m.Count(proc)
	}
	count := int64(0)
	for q := range m.Reqs(proc) {
		if n == 0 {
			break
		}
		n--
		count += q.Length
	}
	return count
}
