#![allow(unused)] pub fn x(){}
