package decomp

var scatterKernels = kernels{
	one: func(canon, blob []byte) { copy(canon, blob) },
	runs: func(canon []byte, lead int, blob []byte, t tile, width int) {
		for r := range t.reps {
			c, b := lead+r*t.stride*width, r*t.elems*width
			if t.rel == nil {
				copy(canon[c:c+t.elems*width], blob[b:])
				continue
			}
			prev := 0
			for i, d := range t.rel {
				o, e := c+int(d)*width, int(t.end[i])*width
				copy(canon[o:o+e-prev], blob[b+prev:b+e])
				prev = e
			}
		}
	},
}

var gatherKernels = kernels{
	one: func(canon, blob []byte) { copy(blob, canon) },
	runs: func(canon []byte, lead int, blob []byte, t tile, width int) {
		for r := range t.reps {
			c, b := lead+r*t.stride*width, r*t.elems*width
			if t.rel == nil {
				copy(blob[b:b+t.elems*width], canon[c:])
				continue
			}
			prev := 0
			for i, d := range t.rel {
				o, e := c+int(d)*width, int(t.end[i])*width
				copy(blob[b+prev:b+e], canon[o:o+e-prev])
				prev = e
			}
		}
	},
}
