package vfs

import "testing"

// TestNoSync: written files are readable, but no file survives a power loss.
func TestNoSync(t *testing.T) {
	m := NewMem()
	c := Count(m)
	n := NoSync(c)
	if err := WriteFile(n, "/a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := n.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	f, err := n.OpenRW("/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("yz"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(m, "/a", 10); err != nil || string(b) != "yz" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := MetaOf(n, "/a"); err != nil {
		t.Error(err)
	}
	if c.Kind(OpSync) != 0 || c.Kind(OpSyncDir) != 0 {
		t.Errorf("%d files and %d folders were synced", c.Kind(OpSync), c.Kind(OpSyncDir))
	}
	if _, err := m.CrashClone(CrashOptions{}).Stat("/a"); err == nil {
		t.Error("it outlived the power loss")
	}
}
