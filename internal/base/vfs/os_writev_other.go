//go:build !linux && !darwin

package vfs

func (f *osFile) writev(bufs [][]byte, off int64) (int64, error) {
	var total int64
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		n, err := f.WriteAt(b, off+total)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
