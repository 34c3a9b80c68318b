package prefixdir

import (
	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// keyNodes of nodes.scr.
const keyNodes = "NODES"

// NodesFile is the nodes file: how many nodes the last run had.
type NodesFile struct{ TreeFile }

// Read returns how many nodes the last run had; ok is false if that is not known.
func (file *NodesFile) Read() (n int, ok bool, err error) {
	t, err := file.TreeFile.Read()
	if err != nil || !t.Has(keyNodes) {
		return 0, false, err
	}
	f := record.Fields{Tree: t, File: file.path()}
	n = f.Int(keyNodes, 0)
	return n, f.Err() == nil, f.Err()
}

// Write says how many nodes the run has.
func (file *NodesFile) Write(n int) error {
	if n < 1 {
		return fault.Usage("%d nodes", n)
	}
	t, err := file.TreeFile.Read()
	if err != nil {
		t = kvtree.New() // one number: nothing is lost
	}
	t.Value(keyNodes).SetInt(n)
	return file.TreeFile.Write(t)
}
