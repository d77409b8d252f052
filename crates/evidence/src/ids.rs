//! Names of what a recording has once and refers to often.

/// Names a string of a recording. 0 is the empty string.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StrId(pub u32);

/// Names a frame of a recording. 0 is no frame.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

/// Names a stack of a recording by its leaf. 0 is no stack.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(pub u32);

/// A stack is its caller's stack plus one frame.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The stack of the caller; 0 at the root.
    pub parent: StackId,
    /// The frame on top.
    pub frame: FrameId,
}
