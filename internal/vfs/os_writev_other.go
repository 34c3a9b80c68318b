//go:build !linux && !darwin

package vfs

func (f *osFile) writev(bufs [][]byte, off int64) (int64, error) {
	return writevLoop(f, bufs, off)
}
