package vfs

import "testing"

// TestNoSync: what is written through it is there, and nothing of it outlives a power loss.
func TestNoSync(t *testing.T) {
	m := NewMem()
	n := NoSync(m)
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
	if _, err := m.CrashClone(CrashOptions{}).Stat("/a"); err == nil {
		t.Error("it outlived the power loss")
	}
}
