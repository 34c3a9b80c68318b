package parfs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestServerKilled: a server is killed while a dataset is being replaced. Where copies or parity are on others, both the write and what
// was committed go on. Where they are not, the error says so, and everything committed is there again with the server.
func TestServerKilled(t *testing.T) {
	each(t, func(t *testing.T, s *system) {
		dir := s.folder(t)
		const many = 6 // names, which are dealt to the servers
		name := func(client, k int) string { return filepath.Join(dir[client], fmt.Sprintf("d%d.nc", k)) }
		for k := range many {
			must(t, write(name(0, k), int32(k), nil))
		}
		failed := 0
		for k := range many {
			err := write(name(0, k), int32(100+k), func() {
				if k == 0 {
					s.kill(t, 1)
				}
			})
			if err != nil {
				failed++
				if s.spare {
					t.Errorf("write %d without a server: %v", k, err)
				} else if !strings.Contains(err.Error(), dir[0]) {
					t.Errorf("write %d: the error names no file: %v", k, err)
				}
			}
			if v, err := read(name(1, k)); err == nil && v != int32(k) && v != int32(100+k) {
				t.Errorf("read %d: %d", k, v)
			} else if err != nil && s.spare {
				t.Errorf("read %d without a server: %v", k, err)
			}
		}
		if !s.spare && failed == 0 {
			t.Error("no write needed the server that was killed")
		}
		s.revive(t, 1)
		for k := range many {
			must(t, until(func() error {
				v, err := read(name(1, k))
				if err == nil && v != int32(k) && v != int32(100+k) {
					t.Fatalf("read %d with the server again: %d", k, v)
				}
				return err
			}))
			must(t, until(func() error { return write(name(1, k), int32(200+k), nil) }))
			if v, err := read(name(1, k)); v != int32(200+k) || err != nil {
				t.Errorf("read %d at the end: %d, %v", k, v, err)
			}
		}
		t.Logf("%d of %d writes failed", failed, many)
	})
}
