package pio

import (
	"encoding/binary"
	"fmt"

	"blobio/cdf5"
	"blobio/internal/base/elem"
)

// A message contains, for each job and each of its writes, the sender's pieces that the receiver owns. First comes the number of
// pieces. Each piece has its distance from the end of the previous piece and its length. The elements follow. The message begins
// with the byte length of all these numbers.

// parcel is a message under construction.
type parcel struct{ numbers, data []byte }

// piece is a run of elements of a write, and its start in the write's data.
type piece struct{ off, n, at int64 }

// send makes the messages to all ranks.
func send(jobs []*job, out [][]byte, root, ranks int) {
	to := make([]parcel, ranks)
	pieces := make([][]piece, ranks)
	for _, j := range jobs {
		size := j.size()
		for _, w := range j.writes {
			for p := range pieces {
				pieces[p] = pieces[p][:0]
			}
			if w.d != nil || w.data != nil {
				at := int64(0)
				for off, n := range w.runs {
					for n > 0 {
						p, end := j.r.owner(off, root, ranks)
						k := min(n, end-off)
						pieces[p] = append(pieces[p], piece{off, k, at})
						off, n, at = off+k, n-k, at+k
					}
				}
			}
			for p, list := range pieces {
				b, last := &to[p], int64(0)
				b.numbers = binary.AppendUvarint(b.numbers, uint64(len(list)))
				for _, x := range list {
					b.numbers = binary.AppendVarint(b.numbers, x.off-last)
					b.numbers = binary.AppendUvarint(b.numbers, uint64(x.n))
					b.data = append(b.data, w.data[x.at*size:(x.at+x.n)*size]...)
					last = x.off + x.n
				}
			}
		}
	}
	for p := range to {
		out[p] = binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(to[p].numbers)+len(to[p].data)), uint64(len(to[p].numbers)))
		out[p] = append(append(out[p], to[p].numbers...), to[p].data...)
	}
}

// receive copies the messages of all ranks into the buffers of jobs: write by write, and for each write in rank order.
func receive(jobs []*job, in [][]byte) error {
	from := make([]parcel, len(in))
	for p, b := range in {
		if len(b) < 8 || uint64(len(b)-8) < binary.LittleEndian.Uint64(b) {
			return fmt.Errorf("invalid message of %d bytes from rank %d", len(b), p)
		}
		n := binary.LittleEndian.Uint64(b)
		from[p] = parcel{b[8 : 8+n], b[8+n:]}
	}
	for _, j := range jobs {
		for _, w := range j.writes {
			if w.d != nil && w.d.holes() {
				if lo, hi := max(w.off, j.lo), min(w.off+w.n, j.hi); lo < hi {
					fillWith(j.buf[(lo-j.lo)*j.size():(hi-j.lo)*j.size()], w.fill, j.r.v)
				}
			}
			for p := range from {
				if err := from[p].lay(j); err != nil {
					return fmt.Errorf("message of rank %d: %w", p, err)
				}
			}
		}
	}
	return nil
}

// lay copies the pieces of one write into a job's buffer.
func (b *parcel) lay(j *job) error {
	n, k := binary.Uvarint(b.numbers)
	bad := k <= 0
	last := int64(0)
	for b.numbers = b.numbers[max(k, 0):]; n > 0 && !bad; n-- {
		d, k := binary.Varint(b.numbers)
		b.numbers = b.numbers[max(k, 0):]
		l, m := binary.Uvarint(b.numbers)
		b.numbers = b.numbers[max(m, 0):]
		off, length := last+d, int64(l)
		if bad = k <= 0 || m <= 0 || off < j.lo || length < 0 || length > j.hi-off || length*j.size() > int64(len(b.data)); bad {
			break
		}
		copy(j.buf[(off-j.lo)*j.size():], b.data[:length*j.size()])
		b.data = b.data[length*j.size():]
		last = off + length
	}
	if bad {
		return fmt.Errorf("variable %q, record %d: received a piece of another rank", j.r.name, j.rec)
	}
	return nil
}

// fillWith fills elements of a variable.
func fillWith(b, one []byte, v *variable) {
	if one == nil {
		cdf5.FillBytes(b, v.t, elem.HostOrder(), fillAtt(v))
		return
	}
	for len(b) > 0 {
		b = b[copy(b, one):]
	}
}
