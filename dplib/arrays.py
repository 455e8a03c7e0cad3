"""The types of numpy arrays, each named once; docstrings add the shapes."""

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
WordArray = npt.NDArray[np.uint64]
ByteArray = npt.NDArray[np.uint8]
Int32Array = npt.NDArray[np.int32]
Word32Array = npt.NDArray[np.uint32]
ComplexArray = npt.NDArray[np.complex128]
