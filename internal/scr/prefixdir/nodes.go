package prefixdir

import (
	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

const keyNodes = "NODES"

// NodesFile is the nodes file, which holds the number of nodes of the last run.
type NodesFile struct{ TreeFile }

// Read returns the number of nodes of the last run. ok is false if the number is
// unknown.
func (file *NodesFile) Read() (n int, ok bool, err error) {
	t, err := file.TreeFile.Read()
	if err != nil || !t.Has(keyNodes) {
		return 0, false, err
	}
	f := record.Fields{Tree: t, File: file.path()}
	n = f.Int(keyNodes, 0)
	return n, f.Err() == nil, f.Err()
}

// Write records the number of nodes of the run.
func (file *NodesFile) Write(n int) error {
	if n < 1 {
		return fault.Usage("%d nodes", n)
	}
	t, err := file.TreeFile.Read()
	if err != nil {
		t = kvtree.New() // a damaged file is replaced, because it held only this number
	}
	t.Value(keyNodes).SetInt(n)
	return file.TreeFile.Write(t)
}
