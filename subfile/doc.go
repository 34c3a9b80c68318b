// Package subfile finds datasets of package blob by their file names and reads their manifests, without package blob.
// A manifest has the files of the commit in force, their sizes and checksums. The package writes nothing.
//
//	Find, List          datasets by the names of their files: Set
//	ReadState           the manifest in force, and whether a writer is active: State
//	Decode              a manifest from its bytes: Manifest, SetInfo, Subfile
//	Name, Split, Base   names: F_h0.nc.0000 and so on
//
// docs/format-manifest.md has names, states, fields and checksums.
//
// Read first: subfile.go.
package subfile
